/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is written in Valgrind's forms: entries, and the list of what was used. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/suppress.h"
#include "base/util.h"

#define NAME_BYTES_MAX 4000u /* a longer name ends with `*` instead */
/* Of identifiers; the bytes of letters beyond ASCII are mangled as they are, but seldom written. */
#define IDENTIFIER "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$"
static const char demangled_note[] =
	"   # The file has only demangled names: their words stand for the mangled ones, and may "
	"fit\n"
	"   # others, too. Names of templates and operators fit in heapwise only, not in Valgrind\n"
	"   # (its --demangle=no gives exact ones).\n";

/*
 * A name as a pattern that fits it. `*` and `?` in it fit themselves; what would not survive a line
 * of text becomes `?`, one for each byte.
 */
static void add_pattern(struct text *text, const char *name)
{
	size_t len = strlen(name), kept = min(len, (size_t)NAME_BYTES_MAX);
	for (size_t i = 0; i < kept; i++) {
		bool last_blank = name[i] == ' ' && i + 1 == kept;
		if (last_blank || (uint8_t)name[i] < ' ' || name[i] == 0x7f)
			text_add_char(text, '?');
		else
			text_add_char(text, name[i]);
	}
	if (kept < len)
		text_add_char(text, '*');
}

/* Whether a name is C++'s or Rust's as people read it: files of memcheck have no other. */
static bool is_readable_form(const char *name)
{
	size_t len = strlen(name);
	return strcmp(name, "(below main)") != 0 &&
	       (strstr(name, "::") || (len && name[len - 1] == ')'));
}

/* What a mangled name may abbreviate, or spell otherwise. */
static bool is_abbreviated(const char *word, size_t len)
{
	static const char *const words[] = {"std", "allocator", "basic_string", "string",
		"basic_istream", "basic_ostream", "basic_iostream", "istream", "ostream",
		"iostream", "anonymous", "namespace", "const"};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == len && memcmp(word, words[i], len) == 0)
			return true;
	return false;
}

/*
 * A pattern that fits a readable name and the mangled one: the words of what is qualified, in their
 * order. Returns false, and adds nothing, if it has an operator, an argument list of a template or
 * the like, of which one cannot tell how it is mangled.
 */
static bool add_words(struct text *text, const char *name)
{
	const char *last = NULL;
	size_t last_len = 0, len = strcspn(name, "(");
	if (len == 0 || len > NAME_BYTES_MAX || strstr(name, "operator") ||
		strspn(name, IDENTIFIER ":~") < len)
		return false;
	size_t before = text->len;
	for (size_t at = 0; at < len;) {
		size_t word = strcspn(name + at, ":~(");
		word = min(word, len - at);
		bool is_same = last && last_len == word && !memcmp(last, name + at, word);
		if (word && !is_same && !is_abbreviated(name + at, word)) {
			text_add_char(text, '*');
			text_printf(text, "%.*s", (int)word, name + at);
		}
		last = word ? name + at : last;
		last_len = word ? word : last_len;
		at += word + 1;
	}
	if (text->len == before)
		return false;
	text_add_char(text, '*');
	return true;
}

static bool is_demangled(const struct suppress_frame *frame)
{
	const char *name = frame->function ? frame->function : frame->demangled;
	return !frame->managed && !frame->pattern && !frame->inlined && name &&
	       is_readable_form(name);
}

static void add_function(
	struct text *text, const struct suppress_frame *frame, const char *function)
{
	if (!is_demangled(frame) || !add_words(text, function))
		add_pattern(text, function);
}

static void suppress_write_add_frame(struct text *text, const struct suppress_frame *frame)
{
	const char *function = frame->function ? frame->function : frame->demangled;
	if (!function && frame->alias_count)
		function = frame->aliases[0];
	text_add(text, frame->pattern || (function && *function) ? "   fun:" : "   obj:");
	if (frame->pattern)
		text_add(text, frame->pattern);
	else if (function && *function)
		add_function(text, frame, function);
	else if (frame->object && *frame->object)
		add_pattern(text, frame->object);
	else
		text_add_char(text, '*');
	text_add_char(text, '\n');
}

/* What stands behind the kind of an entry. */
static void suppress_write_stack(
	struct text *text, const struct suppress_frame *frames, size_t count)
{
	for (size_t i = 0; i < count && i < SUPPRESS_WRITTEN_FRAMES_MAX; i++)
		if (is_demangled(&frames[i])) {
			text_add(text, demangled_note);
			break;
		}
	for (size_t i = 0; i < count && i < SUPPRESS_WRITTEN_FRAMES_MAX; i++) {
		suppress_write_add_frame(text, &frames[i]);
		/* Who calls main() is nothing that a program decides; nor does Valgrind write it.
		 */
		if (frames[i].function && !frames[i].managed &&
			strcmp(frames[i].function, "main") == 0)
			break;
	}
	text_add(text, "}\n");
}

void suppress_write(struct text *text, enum suppress_kind kind, const struct suppress_frame *frames,
	size_t count)
{
	if (count == 0)
		return;
	text_add(text, "{\n   <insert_a_suppression_name_here>\n   Memcheck:Leak\n");
	text_printf(text, "   match-leak-kinds: %s\n", suppress_kind_name(kind));
	suppress_write_stack(text, frames, count);
}

static const char *first_kind_name(uint64_t kinds)
{
	for (unsigned kind = SUPPRESS_KINDS; kind < SUPPRESS_ALL_KINDS; kind++)
		if (kinds & SUPPRESS_BIT(kind))
			return suppress_error_kind_name((enum suppress_error_kind)kind);
	return NULL;
}

void suppress_write_error(struct text *text, const struct suppress_error *error)
{
	const char *kind = first_kind_name(error->kinds);
	if (!kind || error->count == 0)
		return;
	text_printf(text, "{\n   <insert_a_suppression_name_here>\n   Memcheck:%s\n", kind);
	if (error->extra) {
		text_add(text, "   ");
		text_add_shown(text, error->extra, SIZE_MAX);
		text_add(text, "\n");
	}
	suppress_write_stack(text, error->frames, error->count);
}

void suppress_write_used(struct text *text, const struct suppression *suppression)
{
	bool of_leaks = suppression->kinds & SUPPRESS_KINDS_ALL;
	text_printf(text, "used_suppression: %6" PRIu64 " %s %s:%u",
		of_leaks ? suppression->records : suppression->errors, suppression->name,
		suppression->file, suppression->line);
	if (of_leaks) {
		text_add(text, " suppressed: ");
		text_add_count(text, suppression->bytes);
		text_add(text, " bytes in ");
		text_add_count(text, suppression->blocks);
		text_add(text, " blocks");
	}
	text_add(text, "\n");
}

/*
 * What Valgrind 3.19 calls them. It shows realloc(NULL, n) as malloc, and serves aligned_alloc and
 * valloc by a function of its own that is called memalign.
 */
static const char *const aligned_names[] = {"aligned_alloc"};
static const char *const valloc_names[] = {"valloc"};
static const char *const realloc_names[] = {"malloc"};
static const char *const all_names[] = {"calloc", "realloc", "memalign", "posix_memalign",
	"aligned_alloc", "valloc", "pvalloc", "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t",
	"_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t"};

#define PLAIN(name)                                                                                \
	{                                                                                          \
		.function = (name)                                                                 \
	}
#define WITH_ALIASES(name, others)                                                                 \
	{                                                                                          \
		.function = (name), .aliases = (others), .alias_count = ARRAY_SIZE(others)         \
	}

static const struct suppress_frame allocation_frames[ALLOC_KINDS] = {
	[KIND_MALLOC] = PLAIN("malloc"),
	[KIND_CALLOC] = PLAIN("calloc"),
	[KIND_REALLOC] = WITH_ALIASES("realloc", realloc_names),
	[KIND_POSIX_MEMALIGN] = PLAIN("posix_memalign"),
	[KIND_ALIGNED_ALLOC] = WITH_ALIASES("memalign", aligned_names),
	[KIND_MEMALIGN] = PLAIN("memalign"),
	[KIND_VALLOC] = WITH_ALIASES("memalign", valloc_names),
	[KIND_PVALLOC] = PLAIN("pvalloc"),
	[KIND_NEW] = PLAIN("_Znwm"),
	[KIND_NEW_ARRAY] = PLAIN("_Znam"),
	[KIND_NEW_NOTHROW] = PLAIN("_ZnwmRKSt9nothrow_t"),
	[KIND_NEW_ARRAY_NOTHROW] = PLAIN("_ZnamRKSt9nothrow_t"),
	[KIND_NEW_ALIGNED] = PLAIN("_ZnwmSt11align_val_t"),
	[KIND_NEW_ARRAY_ALIGNED] = PLAIN("_ZnamSt11align_val_t"),
	[KIND_NEW_ALIGNED_NOTHROW] = PLAIN("_ZnwmSt11align_val_tRKSt9nothrow_t"),
	[KIND_NEW_ARRAY_ALIGNED_NOTHROW] = PLAIN("_ZnamSt11align_val_tRKSt9nothrow_t"),
	[KIND_PYTHON_RAW] = WITH_ALIASES("malloc", all_names),
	[KIND_PYTHON_MEM] = WITH_ALIASES("malloc", all_names),
	[KIND_PYTHON_OBJ] = WITH_ALIASES("malloc", all_names),
	[KIND_UNKNOWN] = WITH_ALIASES("malloc", all_names),
};

size_t suppress_allocation_frames(
	enum alloc_kind kind, struct suppress_frame ret[SUPPRESS_ALLOCATION_FRAMES_MAX])
{
	assert((unsigned)kind < ALLOC_KINDS);
	size_t count = 0;
	/* As if inlined, so that entries that leave it out hold as well. */
	if (kind == KIND_POSIX_MEMALIGN)
		ret[count++] = (struct suppress_frame){.function = "memalign", .inlined = true};
	ret[count++] = allocation_frames[kind];
	if (kind == KIND_REALLOC)
		ret[count - 1].pattern = "*alloc";
	if (kind >= KIND_NEW && kind <= KIND_NEW_ARRAY_ALIGNED_NOTHROW)
		ret[count - 1].demangled = alloc_kind_name(kind);
	return count;
}
