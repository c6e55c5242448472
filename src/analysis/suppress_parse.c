/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the text of suppression files. The grammar is that of load_one_suppressions_file() in
 * Valgrind's m_errormgr.c (3.19) and of MC_(read_extra_suppression_info)() for what is Memcheck's:
 *
 *	{
 *	   name                                       any text
 *	   Memcheck,Other:Leak                        tools:kind
 *	   match-leak-kinds: definite,possible        may be missing: all kinds
 *	   fun:PATTERN | obj:PATTERN | src:PATTERN[:LINE] | ...
 *	}
 *
 * and of SuppressionContext::Parse() in LLVM's sanitizer_suppressions.cpp for lines leak:PATTERN.
 * Blank lines and those that begin with `#` may stand anywhere. Unlike Valgrind this takes src: as
 * the first line, refuses what could never have been meant (a `{` inside of an entry, letters
 * behind src:FILE:), and after an error reads on, to name the lines of the next ones.
 */
#include <string.h>

#include "analysis/suppress.h"
#include "analysis/suppress_impl.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"

#define ERRORS_NAMED 5u /* the first in words, the others by their lines */
#define QUOTED_BYTES_MAX ((size_t)60)

struct slice {
	const char *data;
	size_t len;
};

struct parser {
	struct suppressions *set;
	const char *file; /* in the set's arena */
	const char *pos, *end;
	uint32_t line_number; /* of `line`; of the last one at the end */
	struct slice line;    /* without blanks at its ends */
	bool has_line;
	bool line_bad;  /* too long, or holds a NUL */
	uint32_t begun; /* number of the line with the entry's `{` */
	struct error *first_error;
	uint32_t error_lines[ERRORS_NAMED];
	size_t error_count;
};

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static struct slice trim(const char *start, const char *end)
{
	while (start < end && is_blank(*start))
		start++;
	while (start < end && is_blank(end[-1]))
		end--;
	return (struct slice){start, (size_t)(end - start)};
}

static bool is_text(struct slice slice, const char *text)
{
	return slice.len == strlen(text) && memcmp(slice.data, text, slice.len) == 0;
}

/* What follows a beginning; data is NULL if it begins otherwise. */
static struct slice behind(struct slice slice, const char *beginning)
{
	size_t len = strlen(beginning);
	if (slice.len < len || memcmp(slice.data, beginning, len) != 0)
		return (struct slice){0};
	return (struct slice){slice.data + len, slice.len - len};
}

/* A line as a message can show it. */
struct quoted {
	char text[QUOTED_BYTES_MAX * 4 + sizeof("…")];
};

static struct quoted quote(struct slice slice)
{
	static const char digits[] = "0123456789abcdef";
	struct quoted quoted;
	char *to = quoted.text;
	for (size_t i = 0; i < slice.len && i < QUOTED_BYTES_MAX; i++) {
		uint8_t byte = (uint8_t)slice.data[i];
		if (byte >= ' ' && byte < 0x7f) {
			*to++ = (char)byte;
			continue;
		}
		*to++ = '\\';
		*to++ = 'x';
		*to++ = digits[byte >> 4];
		*to++ = digits[byte & 15];
	}
	strcpy(to, slice.len > QUOTED_BYTES_MAX ? "…" : "");
	return quoted;
}

#define malformed_at(parser, number, ...)                                                          \
	error_prefix(error_create(ERROR_INPUT, __VA_ARGS__), "%s:%u", (parser)->file, (number))
#define malformed(parser, ...) malformed_at(parser, (parser)->line_number, __VA_ARGS__)

/* The next line that is neither blank nor a comment. */
static void next_line(struct parser *parser)
{
	parser->has_line = false;
	parser->line_bad = false;
	while (parser->pos < parser->end) {
		size_t left = (size_t)(parser->end - parser->pos);
		const char *newline = memchr(parser->pos, '\n', left);
		const char *line_end = newline ? newline : parser->end;
		parser->line = trim(parser->pos, line_end);
		parser->set->effort.bytes_scanned += (uint64_t)(line_end - parser->pos);
		parser->pos = newline ? newline + 1 : parser->end;
		parser->line_number++;
		if (parser->line.len == 0 || parser->line.data[0] == '#')
			continue;
		parser->has_line = true;
		parser->line_bad = parser->line.len > SUPPRESS_LINE_BYTES_MAX ||
				   memchr(parser->line.data, '\0', parser->line.len);
		return;
	}
}

static struct error *check_line(const struct parser *parser)
{
	if (!parser->line_bad)
		return NULL;
	if (parser->line.len > SUPPRESS_LINE_BYTES_MAX)
		return malformed(parser,
			"the line has %zu bytes, more than %u; if this is a suppression file, use "
			"wildcards",
			parser->line.len, SUPPRESS_LINE_BYTES_MAX);
	return malformed(parser,
		"the line holds a NUL byte, so this is no text; give a suppression file in UTF-8");
}

/* The next line of an entry, which must not end here. */
static struct error *entry_line(struct parser *parser, const char *expected)
{
	next_line(parser);
	if (!parser->has_line)
		return malformed(parser,
			"the file ends inside of the entry that begins in line %u; add %s",
			parser->begun, expected);
	if (is_text(parser->line, "{"))
		return malformed(parser,
			"'{' inside of the entry that begins in line %u; close that one by a line "
			"'}'",
			parser->begun);
	return check_line(parser);
}

static bool is_location(struct slice line)
{
	return behind(line, "fun:").data || behind(line, "obj:").data ||
	       behind(line, "src:").data || is_text(line, "...");
}

/* src:FILE:LINE. Names of files hold no colon, as in Valgrind. */
static struct error *take_source_line(
	const struct parser *parser, struct slice *text, uint32_t *ret_number)
{
	const char *colon = memchr(text->data, ':', text->len);
	if (!colon)
		return NULL;
	uint64_t number = 0;
	const char *digit = colon + 1, *end = text->data + text->len;
	for (; digit < end && *digit >= '0' && *digit <= '9' && number <= UINT32_MAX; digit++)
		number = number * 10 + (uint64_t)(*digit - '0');
	if (digit == colon + 1 || digit < end || number > UINT32_MAX)
		return malformed(parser,
			"'%s': what follows the file's name is no line number; "
			"write src:FILE or src:FILE:LINE",
			quote(parser->line).text);
	text->len = (size_t)(colon - text->data);
	*ret_number = (uint32_t)number;
	return NULL;
}

static struct error *add_line(
	struct parser *parser, enum suppress_what what, struct slice text, uint32_t source_line)
{
	struct suppressions *set = parser->set;
	struct suppress_line line = {.source_line = source_line};
	struct error *error = suppressions_intern(set, what, text.data, text.len, &line.pattern);
	if (!error && !suppress_line_vec_push(&set->lines, line))
		error = error_no_memory();
	return error;
}

/* A line of the entry's stack. */
static struct error *parse_location(struct parser *parser)
{
	struct slice text = behind(parser->line, "fun:");
	if (text.data)
		return add_line(parser, WHAT_FUNCTION, text, 0);
	text = behind(parser->line, "obj:");
	if (text.data)
		return add_line(parser, WHAT_OBJECT, text, 0);
	text = behind(parser->line, "src:");
	if (text.data) {
		uint32_t number = 0;
		struct error *error = take_source_line(parser, &text, &number);
		return error ? error : add_line(parser, WHAT_SOURCE, text, number);
	}
	if (is_text(parser->line, "...")) {
		struct suppress_line any = {.pattern = SUPPRESS_ELLIPSIS};
		return suppress_line_vec_push(&parser->set->lines, any) ? NULL : error_no_memory();
	}
	if (behind(parser->line, "match-leak-kinds:").data)
		return malformed(parser, "'match-leak-kinds:' is not where it belongs; write it "
					 "once, right after Memcheck:Leak");
	return malformed(parser,
		"'%s' is no line of a stack; write fun:NAME, obj:FILE, src:FILE[:LINE] or '...'",
		quote(parser->line).text);
}

/* The lines up to `}`; the first one is there already. */
static struct error *parse_stack(struct parser *parser)
{
	struct suppress_line_vec *lines = &parser->set->lines;
	size_t first = lines->len;
	bool says_something = false;
	while (!is_text(parser->line, "}")) {
		if (lines->len - first == SUPPRESS_FRAMES_MAX)
			return malformed(parser,
				"the stack has more than %u lines; use '...' for some of them",
				SUPPRESS_FRAMES_MAX);
		struct error *error = parse_location(parser);
		if (!error)
			error = entry_line(parser, "the rest of its stack and a line '}'");
		if (error)
			return error;
		says_something |= lines->data[lines->len - 1].pattern != SUPPRESS_ELLIPSIS;
	}
	if (lines->len == first)
		return malformed(parser, "the entry has no stack; write at least one line like "
					 "fun:NAME before '}'");
	if (!says_something)
		return malformed(parser, "the entry's stack is nothing but '...', which is every "
					 "stack; add a line like fun:NAME");
	return NULL;
}

/* One of a list's words, up to its comma, which is taken off the list too. */
static struct slice take_word(struct slice *list)
{
	const char *comma = memchr(list->data, ',', list->len);
	struct slice word = {list->data, comma ? (size_t)(comma - list->data) : list->len};
	size_t taken = comma ? word.len + 1 : word.len;
	list->data += taken;
	list->len -= taken;
	return word;
}

static bool kind_of_word(struct slice word, unsigned *kinds)
{
	for (unsigned kind = 0; kind < SUPPRESS_KINDS; kind++)
		if (is_text(word, suppress_kind_name((enum suppress_kind)kind))) {
			*kinds |= 1u << kind;
			return true;
		}
	return false;
}

static struct error *parse_kinds(const struct parser *parser, struct slice list, unsigned *ret)
{
	list = trim(list.data, list.data + list.len);
	unsigned kinds = 0;
	if (is_text(list, "all")) {
		kinds = SUPPRESS_KINDS_ALL;
	} else if (!is_text(list, "none")) {
		if (list.len == 0)
			return malformed(parser, "no kind behind 'match-leak-kinds:'; write "
						 "definite,indirect,possible,reachable, some of "
						 "them, all or none");
		while (list.len) {
			struct slice word = take_word(&list);
			if (!kind_of_word(word, &kinds))
				return malformed(parser,
					"'%s' is no kind of leak; write definite, indirect, "
					"possible and reachable with commas and without blanks "
					"between them, or all or none alone",
					quote(word).text);
		}
	}
	*ret = kinds;
	return NULL;
}

/* Kinds of errors that Memcheck has had, until Valgrind 3.23. */
static const struct memcheck_kind {
	const char *name;
	bool has_extra; /* a line of its own follows */
} memcheck_kinds[] = {
	{"Leak", false},
	{"Addr1", false},
	{"Addr2", false},
	{"Addr4", false},
	{"Addr8", false},
	{"Addr16", false},
	{"Addr32", false},
	{"AlignMismatch", false},
	{"BadAlign", false},
	{"BadSize", false},
	{"Cond", false},
	{"CoreMem", false},
	{"FishyValue", true},
	{"Free", false},
	{"Jump", false},
	{"Mempool", false},
	{"Overlap", false},
	{"Param", true},
	{"ReallocZero", false},
	{"SizeMismatch", false},
	{"UnsafeZeroSize", false},
	{"User", false},
	{"Value0", false},
	{"Value1", false},
	{"Value2", false},
	{"Value4", false},
	{"Value8", false},
	{"Value16", false},
	{"Value32", false},
};

static const struct memcheck_kind *find_memcheck_kind(struct slice name)
{
	for (size_t i = 0; i < ARRAY_SIZE(memcheck_kinds); i++)
		if (is_text(name, memcheck_kinds[i].name))
			return &memcheck_kinds[i];
	return NULL;
}

static bool names_memcheck(struct slice tools)
{
	while (tools.len)
		if (is_text(take_word(&tools), "Memcheck"))
			return true;
	return false;
}

/* Kind of Memcheck that the line tools:kind names; NULL: it is for other tools. */
static struct error *parse_tools(const struct parser *parser, const struct memcheck_kind **ret_kind)
{
	struct slice line = parser->line;
	const char *colon = memchr(line.data, ':', line.len);
	*ret_kind = NULL;
	if (!colon)
		return malformed(parser,
			"'%s' stands where the tool and the kind of error belong; write "
			"Memcheck:Leak",
			quote(line).text);
	struct slice tools = {line.data, (size_t)(colon - line.data)};
	struct slice kind = {colon + 1, line.len - tools.len - 1};
	if (!names_memcheck(tools))
		return NULL;
	*ret_kind = find_memcheck_kind(kind);
	if (*ret_kind)
		return NULL;
	return malformed(parser,
		"'%s' is no kind of error of Memcheck; for a leak write Memcheck:Leak, without "
		"blanks",
		quote(kind).text);
}

static struct error *skip_entry(struct parser *parser)
{
	while (!is_text(parser->line, "}")) {
		struct error *error = entry_line(parser, "a line '}'");
		if (error)
			return error;
	}
	parser->set->passed_over++;
	return NULL;
}

static struct error *add_entry(
	struct parser *parser, struct suppress_entry entry, struct slice name)
{
	struct suppressions *set = parser->set;
	if (set->entries.len >= SUPPRESS_ENTRIES_MAX)
		return malformed(parser, "there are more than %u suppressions; use wildcards",
			SUPPRESS_ENTRIES_MAX);
	entry.count = (uint32_t)set->lines.len - entry.first;
	entry.shown.file = parser->file;
	entry.shown.name = arena_strndup(&set->arena, name.data, name.len);
	if (!entry.shown.name || !suppress_entry_vec_push(&set->entries, entry))
		return error_no_memory();
	return NULL;
}

/* What follows Memcheck:Leak. */
static struct error *parse_leak(
	struct parser *parser, struct suppress_entry entry, struct slice name)
{
	struct error *error = entry_line(parser, "a stack and a line '}'");
	if (error)
		return error;
	struct slice kinds = behind(parser->line, "match-leak-kinds:");
	entry.shown.kinds = SUPPRESS_KINDS_ALL;
	if (kinds.data) {
		error = parse_kinds(parser, kinds, &entry.shown.kinds);
		if (!error)
			error = entry_line(parser, "a stack and a line '}'");
		if (error)
			return error;
	}
	error = parse_stack(parser);
	return error ? error : add_entry(parser, entry, name);
}

/* Memcheck's other kinds: well-formed, but of no use here. */
static struct error *pass_over(struct parser *parser, const struct memcheck_kind *kind)
{
	struct suppress_line_vec *lines = &parser->set->lines;
	size_t lines_before = lines->len;
	struct error *error = entry_line(parser, "a stack and a line '}'");
	if (!error && kind->has_extra) {
		if (is_location(parser->line) || is_text(parser->line, "}"))
			error = malformed(parser,
				"Memcheck:%s needs a line that tells of what; write it right after "
				"that",
				kind->name);
		else
			error = entry_line(parser, "a stack and a line '}'");
	}
	if (!error)
		error = parse_stack(parser);
	lines->len = lines_before;
	parser->set->passed_over += !error;
	return error;
}

/* The line `{` was read. */
static struct error *parse_entry(struct parser *parser)
{
	parser->begun = parser->line_number;
	struct error *error = entry_line(parser, "a name, Memcheck:Leak, a stack and a line '}'");
	if (error)
		return error;
	if (is_text(parser->line, "}"))
		return malformed(parser, "the entry is empty; give it a name, the line "
					 "Memcheck:Leak and a stack, or remove it");
	struct slice name = parser->line;
	struct suppress_entry entry = {
		.shown.line = parser->line_number,
		.first = (uint32_t)parser->set->lines.len,
	};
	const struct memcheck_kind *kind = NULL;
	error = entry_line(parser, "Memcheck:Leak, a stack and a line '}'");
	if (!error)
		error = parse_tools(parser, &kind);
	if (error)
		return error;
	if (!kind)
		return skip_entry(parser);
	if (kind != &memcheck_kinds[0])
		return pass_over(parser, kind);
	return parse_leak(parser, entry, name);
}

/*
 * An LSan pattern as one with `*` alone: ^ at its start and $ where it ends anchor it. What follows
 * a $ counts as little as it does there.
 */
static struct error *parse_lsan(struct parser *parser, struct slice pattern)
{
	struct suppress_entry entry = {
		.shown = {.line = parser->line_number, .kinds = SUPPRESS_KINDS_ALL},
		.first = (uint32_t)parser->set->lines.len,
		.of_any_frame = true,
	};
	if (pattern.len == 0)
		return malformed(parser, "nothing follows 'leak:', which would be every leak; "
					 "write a part of the name of a function, file or module");
	struct slice body = pattern;
	bool from_start = *body.data == '^';
	body.data += from_start;
	body.len -= from_start;
	const char *dollar = memchr(body.data, '$', body.len);
	if (dollar)
		body.len = (size_t)(dollar - body.data);
	bool nothing = dollar && body.len == 0; /* LSan: fits the empty name, which it never asks */
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add(&text, from_start || nothing ? "" : "*");
	text_add_n(&text, body.data, body.len);
	text_add(&text, dollar ? "" : "*");
	if (text.failed)
		return error_no_memory();
	struct error *error =
		add_line(parser, WHAT_ANY, (struct slice){text.data ? text.data : "", text.len}, 0);
	return error ? error : add_entry(parser, entry, pattern);
}

/* The current line begins something. */
static struct error *parse_item(struct parser *parser)
{
	struct error *error = check_line(parser);
	if (error)
		return error;
	if (is_text(parser->line, "{"))
		return parse_entry(parser);
	struct slice pattern = behind(parser->line, "leak:");
	if (pattern.data)
		return parse_lsan(parser, pattern);
	if (parser->line.data[0] == '{')
		return malformed(parser,
			"'%s': a '{' stands alone in its line; put the rest into "
			"the next one",
			quote(parser->line).text);
	return malformed(parser,
		"'%s' begins no suppression; write an entry in '{' and '}' as for Valgrind, or "
		"leak:PATTERN",
		quote(parser->line).text);
}

/* After an error: up to where something may begin anew. */
static void recover(struct parser *parser)
{
	while (parser->has_line && !is_text(parser->line, "{") &&
		!behind(parser->line, "leak:").data) {
		bool closed = is_text(parser->line, "}");
		next_line(parser);
		if (closed)
			return;
	}
}

static void note_error(struct parser *parser, struct error *error)
{
	if (parser->error_count < ERRORS_NAMED)
		parser->error_lines[parser->error_count] = parser->line_number;
	parser->error_count++;
	if (parser->first_error)
		error_destroy(error);
	else
		parser->first_error = error;
}

static struct error *parse_items(struct parser *parser)
{
	next_line(parser);
	while (parser->has_line) {
		uint32_t begins = parser->line_number;
		struct error *error = parse_item(parser);
		if (error && error->code != ERROR_INPUT)
			return error;
		if (!error) {
			next_line(parser);
			continue;
		}
		note_error(parser, error);
		if (parser->line_number == begins && parser->has_line)
			next_line(parser);
		recover(parser);
	}
	return NULL;
}

/* The first error, with the lines of the next ones. */
static struct error *take_errors(struct parser *parser)
{
	struct error *first = steal_ptr(parser->first_error);
	if (parser->error_count < 2)
		return first;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "%s (%zu more: line", first->message, parser->error_count - 1);
	size_t named = min(parser->error_count, (size_t)ERRORS_NAMED);
	for (size_t i = 1; i < named; i++)
		text_printf(&text, "%s %u",
			i > 1       ? ","
			: named > 2 ? "s"
				    : "",
			parser->error_lines[i]);
	text_add(&text, parser->error_count > named ? ", …)" : ")");
	error_destroy(first);
	return text.failed ? error_no_memory() : error_create(ERROR_INPUT, "%s", text.data);
}

struct error *suppressions_parse(
	struct suppressions *set, const char *file, const char *text, size_t len)
{
	if (len > SUPPRESS_TEXT_BYTES_MAX)
		return error_create(ERROR_INPUT,
			"%s: %zu bytes are too much for a suppression file (at most %u); split it, "
			"or use wildcards",
			file, len, SUPPRESS_TEXT_BYTES_MAX);
	if (len == 0)
		return NULL;
	struct parser parser = {.set = set, .pos = text, .end = text + len};
	parser.file = arena_strdup(&set->arena, file);
	if (!parser.file)
		return error_no_memory();
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
		parser.pos += 3;
	size_t entries_before = set->entries.len, lines_before = set->lines.len;
	size_t passed_before = set->passed_over;
	struct error *error = parse_items(&parser);
	if (parser.first_error) {
		if (error)
			error_destroy(parser.first_error);
		else
			error = take_errors(&parser);
	}
	set->is_prepared = false;
	if (error) {
		set->entries.len = entries_before;
		set->lines.len = lines_before;
		set->passed_over = passed_before;
	}
	return error;
}
