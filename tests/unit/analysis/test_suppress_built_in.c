/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The built-in suppressions against the real Valgrind: programs that make the libraries keep blocks
 * need each of them, and nothing else is hidden. The programs are samples/library_blocks*.
 */
#include "analysis/suppress.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "lib/tap.h"
#include "valgrind.h"

#define OPTIONS                                                                                    \
	"-s --default-suppressions=no --leak-check=full --show-leak-kinds=all --num-callers=40 "
#define FREE_LIBRARIES OPTIONS "--run-libc-freeres=yes --run-cxx-freeres=yes"
#define KEEP_LIBRARIES OPTIONS "--run-libc-freeres=no --run-cxx-freeres=no"

/* A figure of the leak summary in words; it is not printed where all was freed. */
static const char *figure(const struct text *output, const char *name, char to[64])
{
	const char *at = strstr(output->data, name);
	snprintf(to, 64, "%s", at ? at + strlen(name) : " 0 bytes in 0 blocks");
	*strchrnul(to, '\n') = '\0';
	CHECK(at || strstr(output->data, "All heap blocks were freed"));
	return to;
}

static char *blocks_command(const char *program, const char *ways)
{
	const char *build = getenv("HW_BUILD_DIR");
	if (!build)
		SKIP("HW_BUILD_DIR is not set");
	char *command = NULL;
	CHECK(asprintf(&command, "%s/tests/unit/%s %s/tests/unit/library_blocks_tls.so %s", build,
		      program, build, ways) > 0);
	return command;
}

/* Entries for what Valgrind sees otherwise, or the programs can't show beside another entry's way:
 * tests/answers/test_first_sentence.py has programs for them. */
static bool is_for_recordings(const char *name)
{
	static const char *const names[] = {"thread-storage", "late-thread-storage",
		"own-addresses-grown", "dlerror-result-of-name", "multibyte-written",
		"multibyte-stream", "nss-services-once", "allocator"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Each entry of the text must have been used in a run. */
static void check_all_used(const char *text, const struct text *output)
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	CHECK_OK(suppressions_parse(set, "text", text, strlen(text)));
	CHECK(suppressions_count(set) > 1);
	for (uint32_t id = 0; id < suppressions_count(set); id++) {
		_cleanup_(text_deinit) struct text part;
		text_init(&part);
		text_printf(&part, " %s /tmp/suppress-", suppressions_get(set, id)->name);
		if (!strstr(output->data, part.data) &&
			!is_for_recordings(suppressions_get(set, id)->name))
			tap_fail("no program needs the entry %s", suppressions_get(set, id)->name);
	}
}

/* Of threads that run: a search of ours finds them held. */
static const char tables[] = "{\ntables\nMemcheck:Leak\nmatch-leak-kinds: possible\n"
			     "fun:calloc\n...\nfun:_dl_allocate_tls\n}\n";

CASE(false_alarms, "late thread-local storage is a false alarm")
{
	need_valgrind();
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	suppress_built_in_text(&text, SUPPRESS_FALSE_ALARM);
	text_add(&text, tables);
	_cleanup_free_ char *command = blocks_command("library_blocks", "thread tls");
	_cleanup_(text_deinit) struct text with, without;
	text_init(&with);
	text_init(&without);
	char is[64];
	valgrind("", FREE_LIBRARIES, command, &without);
	CHECK(strcmp(figure(&without, "possibly lost:", is), " 0 bytes in 0 blocks") != 0);
	CHECK_U64(valgrind(text.data, FREE_LIBRARIES, command, &with), 0);
	CHECK_STR(figure(&with, "possibly lost:", is), " 0 bytes in 0 blocks");
	check_all_used(text.data, &with);
}

/* What Valgrind does not have freed: the loader's books of libraries that are still loaded. */
static const char loader[] = "{\nloader\nMemcheck:Leak\nmatch-leak-kinds: reachable,possible\n"
			     "fun:*alloc\nobj:*/ld-linux*.so.?\n...\nfun:_dl_catch_exception\n}\n";

/* With the libraries' own suppressed, all figures are those of a run in which they are freed. */
static void check_own(const char *own, const char *command, struct text *ret_used)
{
	static const char *const figures[] = {
		"definitely lost:", "indirectly lost:", "possibly lost:", "still reachable:"};
	_cleanup_(text_deinit) struct text freed;
	text_init(&freed);
	struct text kept;
	text_init(&kept);
	CHECK_U64(valgrind(own, KEEP_LIBRARIES, command, &kept), 0);
	CHECK_U64(valgrind(loader, FREE_LIBRARIES, command, &freed), 0);
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		char is[64], expected[64];
		if (strcmp(figure(&kept, figures[i], is), figure(&freed, figures[i], expected)) !=
			0)
			tap_fail("%s%s, freed%s\n%s", figures[i], is, expected, kept.data);
	}
	CHECK(strcmp(figure(&kept, "suppressed:", (char[64]){0}), " 0 bytes in 0 blocks") != 0);
	text_add(ret_used, kept.data);
	text_deinit(&kept);
}

CASE(own_blocks,
	"the libraries' own blocks are those that Valgrind has them free, each entry needed")
{
	need_valgrind();
	_cleanup_free_ char *c =
		blocks_command("library_blocks", "dlopen stdio environment unwinder newlocale "
						 "locale iconv gettext time users hosts "
						 "resolver");
	_cleanup_free_ char *cxx = blocks_command("library_blocks_cxx", "");
	_cleanup_(text_deinit) struct text used, own;
	text_init(&used);
	text_init(&own);
	suppress_built_in_text(&own, SUPPRESS_LIBRARY_OWN);
	check_own(own.data, c, &used);
	check_own(own.data, cxx, &used);
	check_all_used(own.data, &used);
}

CASE(origins, "built-in entries say what they are, and those of files come before them")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	CHECK_OK(suppressions_parse(set, "x", "leak:add_to_environ\n", 20));
	CHECK_OK(suppressions_add_built_in(set));
	static const struct suppress_frame environment[] = {
		{.function = "malloc"}, {.function = "__add_to_environ"}, {.function = "main"}};
	static const struct suppress_frame buffer[] = {
		{.function = "malloc"}, {.function = "_IO_file_doallocate"}, {.function = "puts"}};
	static const struct suppress_frame thread[] = {
		{.function = "calloc"}, {.function = "_dl_allocate_tls"}, {.function = "run"}};
	uint32_t id;
	CHECK_OK(suppressions_match(set, environment, 3, SUPPRESS_REACHABLE, &id));
	CHECK_U64(suppressions_get(set, id)->origin, SUPPRESS_FROM_FILE);
	CHECK_OK(suppressions_match(set, buffer, 3, SUPPRESS_REACHABLE, &id));
	CHECK_U64(suppressions_get(set, id)->origin, SUPPRESS_LIBRARY_OWN);
	CHECK_STR(suppressions_get(set, id)->file, "built-in");
	CHECK_OK(suppressions_match(set, buffer, 3, SUPPRESS_DEFINITE, &id));
	CHECK_U64(id, SUPPRESS_NONE);
	/* Of a thread that nobody joined: that is told. */
	CHECK_OK(suppressions_match(set, thread, 3, SUPPRESS_POSSIBLE, &id));
	CHECK_U64(id, SUPPRESS_NONE);
	CHECK_OK(suppressions_match(set, thread, 3, SUPPRESS_REACHABLE, &id));
	CHECK_U64(suppressions_get(set, id)->origin, SUPPRESS_LIBRARY_OWN);
}

TAP_MAIN
