/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Written suppressions: their form, that they hold for their stack when read, memcheck's list. */
#include "analysis/suppress.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "lib/tap.h"

static const char head[] = "{\n   <insert_a_suppression_name_here>\n   Memcheck:Leak\n";

CASE(form, "an entry looks as Valgrind writes it")
{
	const struct suppress_frame frames[] = {
		{.function = "_Znwm", .demangled = "operator new"},
		{.demangled = "app::Cache::add", .inlined = true},
		{.object = "/usr/lib/libx.so.1"},
		{.line = 3},
		{.function = "main", .object = "/usr/bin/app"},
	};
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	suppress_write(&text, SUPPRESS_POSSIBLE, frames, ARRAY_SIZE(frames));
	CHECK_STR(text.data, "{\n   <insert_a_suppression_name_here>\n   Memcheck:Leak\n"
			     "   match-leak-kinds: possible\n"
			     "   fun:_Znwm\n   fun:app::Cache::add\n   obj:/usr/lib/libx.so.1\n"
			     "   obj:*\n   fun:main\n}\n");
	text_clear(&text);
	suppress_write(&text, SUPPRESS_POSSIBLE, frames, 0);
	CHECK_U64(text.len, 0);
}

CASE(errors, "an entry for an error looks as Valgrind writes it, and holds for the error")
{
	const struct suppress_frame frames[] = {{.function = "get"}, {.object = "/lib/x.so"},
		{.function = "main"}, {.function = "_start"}};
	const struct suppress_error errors[] = {
		{SUPPRESS_BIT(SUPPRESS_ADDR16), NULL, frames, ARRAY_SIZE(frames), NULL},
		{SUPPRESS_BIT(SUPPRESS_PARAM), "write(buf)", frames, ARRAY_SIZE(frames), NULL},
		{SUPPRESS_ADDR_ALL, NULL, frames, ARRAY_SIZE(frames), NULL},
		{SUPPRESS_BIT(SUPPRESS_FREE) | SUPPRESS_BIT(SUPPRESS_MISMATCH), NULL, frames, 1,
			NULL},
	};
	static const char *const kinds[] = {
		"Addr16\n", "Param\n   write(buf)\n", "Addr1\n", "Free\n"};
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
		_cleanup_(text_deinit) struct text text, wanted;
		uint32_t id;
		text_init(&text);
		text_init(&wanted);
		suppress_write_error(&text, &errors[i]);
		text_printf(&wanted,
			"{\n   <insert_a_suppression_name_here>\n   Memcheck:%s   fun:get\n%s}\n",
			kinds[i], i < 3 ? "   obj:/lib/x.so\n   fun:main\n" : "");
		CHECK_STR(text.data, wanted.data);
		CHECK_OK(suppressions_create(&set));
		CHECK_OK(suppressions_parse(set, "written", text.data, text.len));
		CHECK_OK(suppressions_match_error(set, &errors[i], &id));
		CHECK_U64(id, 0);
		suppressions_use_error(set, id, 7);
		text_clear(&text);
		suppress_write_used(&text, suppressions_get(set, 0));
		CHECK_STR(text.data,
			"used_suppression:      7 <insert_a_suppression_name_here> written:2\n");
	}
	const struct suppress_error nameless = {
		SUPPRESS_BIT(SUPPRESS_IN_CALL), NULL, frames, 1, NULL};
	const struct suppress_error stackless = {
		SUPPRESS_BIT(SUPPRESS_COND), NULL, frames, 0, NULL};
	_cleanup_(text_deinit) struct text none;
	text_init(&none);
	suppress_write_error(&none, &nameless);
	suppress_write_error(&none, &stackless);
	CHECK_U64(none.len, 0);
}

CASE(allocation, "the allocation function is written as Valgrind calls it")
{
	static const struct {
		enum alloc_kind kind;
		const char *lines;
	} ways[] = {
		{KIND_REALLOC, "   fun:*alloc\n}\n"},
		{KIND_POSIX_MEMALIGN, "   fun:memalign\n   fun:posix_memalign\n}\n"},
		{KIND_ALIGNED_ALLOC, "   fun:memalign\n}\n"},
		{KIND_NEW_ARRAY_NOTHROW, "   fun:_ZnamRKSt9nothrow_t\n}\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct suppress_frame frames[SUPPRESS_ALLOCATION_FRAMES_MAX];
		size_t count = suppress_allocation_frames(ways[i].kind, frames);
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		suppress_write(&text, SUPPRESS_DEFINITE, frames, count);
		CHECK_CONTAINS(text.data, ways[i].lines);
	}
}

/* Reads what is written for the stack: it must be one entry that holds for it, and for that kind.
 */
static void check_returns(
	const struct suppress_frame *frames, size_t count, enum suppress_kind kind)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	suppress_write(&text, kind, frames, count);
	CHECK(!text.failed);
	CHECK(strncmp(text.data, head, strlen(head)) == 0);
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	CHECK_OK(suppressions_parse(set, "written", text.data, text.len));
	CHECK_U64(suppressions_count(set), 1);
	uint32_t id;
	for (unsigned other = 0; other < SUPPRESS_KINDS; other++) {
		CHECK_OK(suppressions_match(set, frames, count, (enum suppress_kind)other, &id));
		CHECK_U64(id, other == kind ? 0 : SUPPRESS_NONE);
	}
}

CASE(odd_names, "names of any bytes survive: blanks, wildcards, line ends, braces, great length")
{
	static char long_name[60000];
	memset(long_name, 'x', sizeof(long_name) - 1);
	static const char *const names[] = {" ", "a ", " a", "\t", "a\nb", "\n}\n{", "}", "...",
		"*", "?", "a*b?c", "#a", "fun:b", "operator new(unsigned long)", "\x01\x7f\r",
		"f\xc3\xbc", "lambda at /src/a b.cc:3", "", "foo@@V1", "@", "src:1:", long_name};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct suppress_frame by_function[] = {
			{.function = "malloc"}, {.function = names[i]}, {.function = "main"}};
		const struct suppress_frame by_object[] = {
			{.function = "malloc"}, {.object = names[i]}, {.function = "main"}};
		check_returns(by_function, 3, (enum suppress_kind)(i % SUPPRESS_KINDS));
		check_returns(by_object, 3, SUPPRESS_DEFINITE);
	}
}

CASE(random_names, "random bytes as names survive")
{
	uint64_t state = 7;
	for (unsigned round = 0; round < 3000; round++) {
		char names[6][8];
		struct suppress_frame frames[6] = {{0}};
		for (unsigned i = 0; i < 6; i++) {
			for (unsigned j = 0; j < 8; j++) {
				state = state * 6364136223846793005u + 1442695040888963407u;
				names[i][j] =
					(char)((state >> 33) % ((state >> 50) % 2 ? 256 : 48));
			}
			names[i][7] = '\0';
			const char **place =
				(round + i) % 5 ? &frames[i].function : &frames[i].object;
			*place = names[i];
			frames[i].inlined = (state >> 60) == 0;
		}
		check_returns(frames, 6, SUPPRESS_INDIRECT);
	}
}

CASE(deep, "of a deep stack the innermost 24 frames are written, and hold for all of it")
{
	struct suppress_frame frames[100];
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] = (struct suppress_frame){.function = i < 24 ? "inner" : "outer"};
	check_returns(frames, ARRAY_SIZE(frames), SUPPRESS_REACHABLE);
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	suppress_write(&text, SUPPRESS_REACHABLE, frames, ARRAY_SIZE(frames));
	size_t lines = 0;
	for (const char *at = text.data; (at = strstr(at, "fun:inner\n")); at++)
		lines++;
	CHECK_U64(lines, SUPPRESS_WRITTEN_FRAMES_MAX);
	CHECK(!strstr(text.data, "outer"));
}

CASE(used, "the list of what was used looks as memcheck's -s prints it")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	static const char entry[] = "{\n  my name\n  Memcheck:Leak\n  fun:f\n}\n";
	CHECK_OK(suppressions_parse(set, "my.supp", entry, strlen(entry)));
	suppressions_use(set, 0, 1, 72704);
	suppressions_use(set, 0, 1233, 1);
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	suppress_write_used(&text, suppressions_get(set, 0));
	CHECK_STR(text.data,
		"used_suppression:      2 my name my.supp:2 suppressed: 72,705 bytes in "
		"1,234 blocks\n");
}

TAP_MAIN
