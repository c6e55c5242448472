/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suppressions against the real Valgrind: it takes what is written here and holds it to mean the
 * same, and both agree on what is malformed. Called as `test_suppress_valgrind leak` it is the
 * program that leaks.
 */
#include "analysis/suppress.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "lib/tap.h"
#include "valgrind.h"

void *suppress_test_leak(size_t size);
void suppress_test_caller(void);

__attribute__((noinline)) void *suppress_test_leak(size_t size)
{
	void *block = calloc(1, size);
	__asm__ volatile("" : "+r"(block)); /* no tail call */
	return block;
}

__attribute__((noinline)) void suppress_test_caller(void)
{
	volatile size_t size = 777; /* no copy for that size */
	for (int i = 0; i < 3; i++)
		__asm__ volatile("" : : "r"(suppress_test_leak(size)));
}

#define LEAK_CHECK "-s --leak-check=full --num-callers=4"

static int valgrind_self(const char *supp, struct text *ret)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 10);
	CHECK(len > 0);
	strcpy(self + len, " leak");
	return valgrind(supp, LEAK_CHECK, self, ret);
}

CASE(written, "an entry that is written here suppresses the leak in Valgrind, and counts alike")
{
	need_valgrind();
	const struct suppress_frame frames[] = {
		{.function = "calloc"},
		{.function = "suppress_test_leak"},
		{.function = "suppress_test_caller"},
		{.function = "main"},
	};
	_cleanup_(text_deinit) struct text output, entry, used;
	text_init(&output);
	text_init(&entry);
	text_init(&used);
	/* An entry for another stack comes first: it must not hold. */
	suppress_write(&entry, SUPPRESS_DEFINITE, frames + 1, 3);
	CHECK_U64(valgrind_self(entry.data, &output), VALGRIND_EXIT_ERRORS);
	CHECK_CONTAINS(output.data, "2,331 bytes in 3 blocks are definitely lost");
	suppress_write(&entry, SUPPRESS_DEFINITE, frames, 4);
	text_clear(&output);
	CHECK_U64(valgrind_self(entry.data, &output), 0);

	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	CHECK_OK(suppressions_parse(set, "x", entry.data, entry.len));
	uint32_t id;
	CHECK_OK(suppressions_match(set, frames, 4, SUPPRESS_DEFINITE, &id));
	CHECK_U64(id, 1);
	suppressions_use(set, id, 3, 2331);
	suppress_write_used(&used, suppressions_get(set, id));
	char *line = strstr(output.data, "used_suppression:");
	CHECK(line);
	*strchrnul(line, '\n') = '\0';
	used.data[used.len - 1] = '\0';
	/* The same but for the file's name between them. */
	const char *number = strrchr(used.data, ':') - strlen("x:11 suppressed");
	CHECK_MEM(line, used.data, (size_t)(number - used.data));
	CHECK_STR(strstr(line, ":11 suppressed"), strstr(used.data, ":11 suppressed"));
}

/* What Valgrind says of a text, and we too. */
static void check_verdicts(const char *const *texts, size_t count, bool well_formed)
{
	need_valgrind();
	for (size_t i = 0; i < count; i++) {
		_cleanup_(text_deinit) struct text output;
		text_init(&output);
		valgrind(texts[i], "", "/bin/true", &output);
		CHECK_CONTAINS(output.data, "==");
		bool refused = strstr(output.data, "FATAL: in suppressions file") != NULL;
		if (refused == well_formed)
			tap_fail("Valgrind on\n%s\n%s", texts[i], output.data);
		_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
		CHECK_OK(suppressions_create(&set));
		struct error *error = suppressions_parse(set, "x", texts[i], strlen(texts[i]));
		if (!error != well_formed)
			tap_fail("parsing\n%s\n%s", texts[i], error ? error->message : "no error");
		error_destroy(error);
	}
}

CASE(taken, "what Valgrind takes is taken")
{
	static const char *const texts[] = {
		"{\na\nMemcheck:Leak\nmatch-leak-kinds: definite,possible,\nfun:a\n...\nobj:b\n}",
		"{\r\na\r\nOther,Memcheck:Leak\r\n  # c\r\n...\r\nsrc:a.c:6\r\n}\r\n",
		"{\na\nFoo, Memcheck:Leak\nwhat ever\n}\n",
		"{\na\nMemcheck:Leak\nmatch-leak-kinds:none\nfun:\n}\n",
		"{\na\nMemcheck:Param\nwrite(buf)\nfun:a\n}\n",
	};
	check_verdicts(texts, ARRAY_SIZE(texts), true);
}

CASE(refused, "what Valgrind refuses is refused")
{
	static const char *const texts[] = {
		"{\n}\n",
		"{ a\n}\n",
		"}\n",
		"{\na\nMemcheck:Leak\nfun:main}\n",
		"{\na\nMemcheck:Leak\n...\n}\n",
		"{\na\nMemcheck:Leak\n}\n",
		"{\na\nMemcheck: Leak\nfun:a\n}\n",
		"{\na\nMemcheck:Leak\nmatch-leak-kinds: definite, possible\nfun:a\n}\n",
		"{\na\nMemcheck:Leak\nmatch-leak-kinds: all,definite\nfun:a\n}\n",
		"{\na\nMemcheck:Leak\nmatch-leak-kinds:\nfun:a\n}\n",
		"{\na\nMemcheck:Param\nfun:a\n}\n",
	};
	check_verdicts(texts, ARRAY_SIZE(texts), false);
}

CASE(default_file, "Valgrind's own suppressions are read whole")
{
	static const char *const files[] = {
		"/usr/libexec/valgrind/default.supp", "/usr/lib/valgrind/default.supp"};
	FILE *file = fopen(files[0], "r");
	if (!file)
		file = fopen(files[1], "r");
	if (!file)
		SKIP("no Valgrind here (./dev deps --peers installs it)");
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	char line[4096];
	size_t begun = 0, leaks = 0;
	while (fgets(line, sizeof(line), file)) {
		begun += line[strspn(line, " \t")] == '{';
		leaks += strstr(line, "Memcheck:Leak\n") != NULL;
		text_add(&text, line);
	}
	fclose(file);
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	CHECK_OK(suppressions_parse(set, "default.supp", text.data, text.len));
	CHECK(leaks > 0);
	CHECK(suppressions_count(set) > leaks); /* of errors, too */
	CHECK_U64(suppressions_count(set) + suppressions_passed_over(set), begun);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "leak") == 0) {
		suppress_test_caller();
		return 0;
	}
	return tap_main(argc, argv);
}
