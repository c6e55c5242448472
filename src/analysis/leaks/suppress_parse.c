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
 * with an extra line after some kinds of errors, and of SuppressionContext::Parse() in LLVM's
 * sanitizer_suppressions.cpp for lines leak:PATTERN and those of AddressSanitizer
 * (asan_suppressions.cpp).
 * Blank lines and those that begin with `#` may be anywhere. Unlike Valgrind this takes src: as
 * the first line, refuses what could never have been meant (a `{` inside of an entry, letters
 * after src:FILE:), and after an error reads on, to name the lines of the next ones.
 */
#include <string.h>

#include "analysis/leaks/suppress_impl.h"
#include "analysis/leaks/suppress_lines.h"
#include "analysis/leaks/suppress_words.h"
#include "analysis/suppress.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"

/* The next line of an entry, which must not end here. */
static struct error *entry_line(struct parser *parser, const char *expected)
{
	suppress_next_line(parser);
	if (!parser->has_line)
		return malformed(parser,
			"the file ends inside the entry that begins on line %u; add %s",
			parser->begun, expected);
	if (is_text(parser->line, "{"))
		return malformed(parser,
			"'{' inside the entry that begins on line %u; close that entry with a line "
			"'}'",
			parser->begun);
	return suppress_check_line(parser);
}

static bool is_location(struct slice line)
{
	return after(line, "fun:").data || after(line, "obj:").data || after(line, "src:").data ||
	       is_text(line, "...");
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
			"invalid line number in '%s'; expected src:FILE or src:FILE:LINE",
			suppress_quote(parser->line).text);
	text->len = (size_t)(colon - text->data);
	*ret_number = (uint32_t)number;
	return NULL;
}

static struct error *suppress_parse_add_line(
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
	struct slice text = after(parser->line, "fun:");
	if (text.data)
		return suppress_parse_add_line(parser, WHAT_FUNCTION, text, 0);
	text = after(parser->line, "obj:");
	if (text.data)
		return suppress_parse_add_line(parser, WHAT_OBJECT, text, 0);
	text = after(parser->line, "src:");
	if (text.data) {
		uint32_t number = 0;
		struct error *error = take_source_line(parser, &text, &number);
		return error ? error : suppress_parse_add_line(parser, WHAT_SOURCE, text, number);
	}
	if (is_text(parser->line, "...")) {
		struct suppress_line any = {.pattern = SUPPRESS_ELLIPSIS};
		return suppress_line_vec_push(&parser->set->lines, any) ? NULL : error_no_memory();
	}
	if (after(parser->line, "match-leak-kinds:").data)
		return malformed(parser, "misplaced 'match-leak-kinds:'; write it "
					 "once, right after Memcheck:Leak");
	return malformed(parser,
		"invalid stack line '%s'; expected fun:NAME, obj:FILE, src:FILE[:LINE] or '...'",
		suppress_quote(parser->line).text);
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
		return malformed(parser, "the entry's stack is only '...', which matches every "
					 "stack; add a line like fun:NAME");
	return NULL;
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
	struct slice kinds = after(parser->line, "match-leak-kinds:");
	entry.shown.kinds = SUPPRESS_KINDS_ALL;
	if (kinds.data) {
		error = suppress_parse_kinds(parser, kinds, &entry.shown.kinds);
		if (!error)
			error = entry_line(parser, "a stack and a line '}'");
		if (error)
			return error;
	}
	error = parse_stack(parser);
	return error ? error : add_entry(parser, entry, name);
}

/* The line of its own that some kinds have. */
static struct error *parse_extra(
	struct parser *parser, const struct memcheck_kind *kind, const char **ret)
{
	if (is_location(parser->line) || is_text(parser->line, "}"))
		return malformed(parser,
			"Memcheck:%s needs an extra line right after it; see Valgrind's manual",
			kind->name);
	*ret = arena_strndup(&parser->set->arena, parser->line.data, parser->line.len);
	return *ret ? entry_line(parser, "a stack and a line '}'") : error_no_memory();
}

/* What follows Memcheck's other kinds. */
static struct error *parse_error(struct parser *parser, struct suppress_entry entry,
	const struct memcheck_kind *kind, struct slice name)
{
	struct error *error = entry_line(parser, "a stack and a line '}'");
	entry.shown.kinds = SUPPRESS_BIT(kind->kind);
	if (!error && kind->has_extra)
		error = parse_extra(parser, kind, &entry.shown.extra);
	if (!error)
		error = parse_stack(parser);
	return error ? error : add_entry(parser, entry, name);
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
		error = suppress_parse_tools(parser, &kind);
	if (error)
		return error;
	if (!kind)
		return skip_entry(parser);
	if (strcmp(kind->name, MEMCHECK_LEAK) != 0)
		return parse_error(parser, entry, kind, name);
	return parse_leak(parser, entry, name);
}

/* Lines of the sanitizers: TYPE:PATTERN. */
static const struct suppress_lsan_type {
	const char *beginning;
	uint64_t kinds; /* none: of an error that is not looked for here */
	enum suppress_what what;
	bool of_call;
} lsan_types[] = {
	{"leak:", SUPPRESS_KINDS_ALL, WHAT_ANY, false},
	{"interceptor_name:", SUPPRESS_BIT(SUPPRESS_IN_CALL), WHAT_FUNCTION, true},
	{"interceptor_via_fun:", SUPPRESS_BIT(SUPPRESS_IN_CALL), WHAT_FUNCTION, false},
	{"interceptor_via_lib:", SUPPRESS_BIT(SUPPRESS_IN_CALL), WHAT_OBJECT, false},
	{"alloc_dealloc_mismatch:", SUPPRESS_BIT(SUPPRESS_MISMATCH), WHAT_ANY, false},
	{"odr_violation:", 0, WHAT_ANY, false},
};

/*
 * Types of the other sanitizers (tsan_suppressions.cpp; names of checks in ubsan_checks.inc), which
 * AddressSanitizer and LeakSanitizer refuse, too.
 */
static const struct foreign_types {
	const char *sanitizer;
	const char *types[28];
} foreign_types[] = {
	{"ThreadSanitizer", {"race:", "race_top:", "mutex:", "thread:", "signal:",
				    "called_from_lib:", "deadlock:"}},
	{"UndefinedBehaviorSanitizer",
		{"undefined:", "null:", "alignment:", "object-size:", "bool:", "enum:", "bounds:",
			"float-cast-overflow:", "float-divide-by-zero:", "integer-divide-by-zero:",
			"signed-integer-overflow:", "unsigned-integer-overflow:", "shift:",
			"shift-base:", "shift-exponent:", "unreachable:", "return:", "vla-bound:",
			"function:", "returns-nonnull-attribute:", "nonnull-attribute:", "vptr:",
			"vptr_check:", "pointer-overflow:", "builtin:", "implicit-conversion:",
			"nullability:", "integer:"}},
};

/* The sanitizer whose suppression a line is, and not one of heapwise's; NULL: of none. */
static const char *find_foreign(struct slice line)
{
	for (size_t i = 0; i < ARRAY_SIZE(foreign_types); i++)
		for (size_t k = 0; k < ARRAY_SIZE(foreign_types[i].types); k++)
			if (foreign_types[i].types[k] &&
				after(line, foreign_types[i].types[k]).data)
				return foreign_types[i].sanitizer;
	return NULL;
}

static const struct suppress_lsan_type *find_lsan_type(struct slice line)
{
	for (size_t i = 0; i < ARRAY_SIZE(lsan_types); i++)
		if (after(line, lsan_types[i].beginning).data)
			return &lsan_types[i];
	return NULL;
}

/*
 * A sanitizer's pattern as one with `*` alone: ^ at its start and $ where it ends anchor it. What
 * follows a $ counts as little as it does there.
 */
static struct error *parse_lsan(struct parser *parser, const struct suppress_lsan_type *type)
{
	struct slice pattern = after(parser->line, type->beginning);
	struct suppress_entry entry = {
		.shown = {.line = parser->line_number, .kinds = type->kinds},
		.first = (uint32_t)parser->set->lines.len,
		.of_any_frame = !type->of_call,
		.of_call = type->of_call,
	};
	if (pattern.len == 0)
		return malformed(parser,
			"'%s' without a pattern would match every %s; write "
			"a part of the name of a function, file or module",
			type->beginning, type->kinds == SUPPRESS_KINDS_ALL ? "leak" : "error");
	if (!type->kinds) {
		parser->set->passed_over++;
		return NULL;
	}
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
	struct error *error = suppress_parse_add_line(
		parser, type->what, (struct slice){text.data ? text.data : "", text.len}, 0);
	return error ? error : add_entry(parser, entry, pattern);
}

/* The current line begins something. */
static struct error *parse_item(struct parser *parser)
{
	struct error *error = suppress_check_line(parser);
	if (error)
		return error;
	if (is_text(parser->line, "{"))
		return parse_entry(parser);
	const struct suppress_lsan_type *type = find_lsan_type(parser->line);
	if (type)
		return parse_lsan(parser, type);
	if (parser->line.data[0] == '{')
		return malformed(parser,
			"'%s': '{' must be alone on its line; put the rest on the next line",
			suppress_quote(parser->line).text);
	const char *sanitizer = find_foreign(parser->line);
	if (sanitizer)
		return malformed(parser,
			"'%s' is a suppression of %s, whose errors are not looked for here; remove "
			"the line",
			suppress_quote(parser->line).text, sanitizer);
	return malformed(parser,
		"invalid suppression '%s'; expected an entry in '{' and '}' as for Valgrind, "
		"leak:PATTERN, or interceptor_name:, interceptor_via_fun:, interceptor_via_lib: or "
		"alloc_dealloc_mismatch: with a pattern",
		suppress_quote(parser->line).text);
}

/* After an error: up to where something may begin anew. */
static void suppress_parse_recover(struct parser *parser)
{
	while (parser->has_line && !is_text(parser->line, "{") && !find_lsan_type(parser->line)) {
		bool closed = is_text(parser->line, "}");
		suppress_next_line(parser);
		if (closed)
			return;
	}
}

static void note_error(struct parser *parser, struct error *error)
{
	if (parser->error_count < SUPPRESS_ERRORS_NAMED)
		parser->error_lines[parser->error_count] = parser->line_number;
	parser->error_count++;
	if (parser->first_error)
		error_destroy(error);
	else
		parser->first_error = error;
}

static struct error *parse_items(struct parser *parser)
{
	suppress_next_line(parser);
	while (parser->has_line) {
		uint32_t begins = parser->line_number;
		struct error *error = parse_item(parser);
		if (error && error->code != ERROR_INPUT)
			return error;
		if (!error) {
			suppress_next_line(parser);
			continue;
		}
		note_error(parser, error);
		if (parser->line_number == begins && parser->has_line)
			suppress_next_line(parser);
		suppress_parse_recover(parser);
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
	size_t named = min(parser->error_count, (size_t)SUPPRESS_ERRORS_NAMED);
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
			"%s: %zu bytes are too many for a suppression file (at most %u); split it, "
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
