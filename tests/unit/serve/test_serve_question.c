/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pages of a server ask for becomes a command line: of the files that are served, with options
 * that choose what a page is of, whatever is in the URL. */
#include <string.h>

#include "cli/serve/serve_question.h"
#include "lib/tap.h"

static const struct option_spec allowed[] = {
	{1, "focus", "REGEX", ""},
	{2, "kind", "FUNC", ""},
	{3, "all-frames", NULL, ""},
	{0},
};
static char *common[] = {(char *)"--names=raw"};

static void check_words(const struct serve_question *question, const char *const *expected)
{
	size_t i = 0;
	for (; expected[i]; i++) {
		CHECK(i < question->words.len);
		CHECK_STR(question->words.data[i], expected[i]);
	}
	CHECK_U64(question->words.len, i);
}

static struct serve_file files[] = {{.path = (char *)"a.hpw", .is_there = true},
	{.path = (char *)"-o", .is_there = true},
	{.path = (char *)"123", .is_process = true, .is_there = true}};
static const struct serve_files list = {.data = files, .len = 3};

static struct serve_questions questions_of(bool compares)
{
	return (struct serve_questions){.files = &list,
		.allowed = allowed,
		.common = common,
		.common_count = 1,
		.compares = compares};
}

CASE(words, "arguments become words, in their order; empty ones are none")
{
	struct serve_questions questions = questions_of(false);
	const struct serve_argument arguments[] = {{"kind", "malloc"}, {"file", "1"},
		{"focus", "--output=x y'\"\n"}, {"kind", "calloc"}, {"all-frames", "1"},
		{"focus", ""}};
	struct serve_question question;
	serve_question_init(&question);
	CHECK_OK(serve_question_take(&questions, arguments, 6, &question));
	const char *const expected[] = {"heapwise", "html", "--container", "--output=-",
		"--names=raw", "--kind=malloc", "--focus=--output=x y'\"\n", "--kind=calloc",
		"--all-frames", "--", "-o", NULL};
	check_words(&question, expected);
	CHECK_U64(question.file, 1);
	serve_question_deinit(&question);
}

CASE(compared, "the other file is one of the list, where pages compare")
{
	struct serve_questions questions = questions_of(true), without = questions_of(false);
	const struct serve_argument arguments[] = {{"file", "1"}, {"base", "0"}};
	struct serve_question question;
	serve_question_init(&question);
	CHECK_OK(serve_question_take(&questions, arguments, 2, &question));
	CHECK_STR(question.words.data[5], "--base=a.hpw");
	serve_question_deinit(&question);
	serve_question_init(&question);
	CHECK_ERROR(serve_question_take(&without, arguments, 2, &question), ERROR_USAGE, "compare");
	serve_question_deinit(&question);
}

static void check_refused(const struct serve_argument *arguments, size_t count,
	enum error_code code, const char *expected)
{
	struct serve_questions questions = questions_of(true);
	struct serve_question question;
	serve_question_init(&question);
	CHECK_ERROR(serve_question_take(&questions, arguments, count, &question), code, expected);
	serve_question_deinit(&question);
}

CASE(refused, "nothing else is taken")
{
	static char large[SERVE_VALUE_MAX + 2];
	memset(large, 'x', sizeof(large) - 1);
	static const char *const no_files[] = {"", "3", "-1", " 1", "1 ", "0x0", "+0", "a.hpw",
		"18446744073709551616", "99999999999999999999999"};
	for (size_t i = 0; i < sizeof(no_files) / sizeof(no_files[0]); i++) {
		check_refused(&(struct serve_argument){"file", no_files[i]}, 1, ERROR_USAGE,
			"none of the 3 files");
		const struct serve_argument base[] = {{"file", "0"}, {"base", no_files[i]}};
		check_refused(base, 2, ERROR_USAGE, "none of the 3 files");
	}
	check_refused(NULL, 0, ERROR_USAGE, "no file");
	static const char *const no_options[] = {
		"", "output", "o", "focus=x", "--focus", "Focus", "foc", "page-limit", "sysroot"};
	for (size_t i = 0; i < sizeof(no_options) / sizeof(no_options[0]); i++)
		check_refused(&(struct serve_argument){no_options[i], "x"}, 1, ERROR_USAGE,
			"nothing that a page can ask for");
	check_refused(&(struct serve_argument){"focus", large}, 1, ERROR_USAGE, "longer than");
}

CASE(split, "a word with the end of a line in it is not two")
{
	struct serve_questions questions = questions_of(false);
	struct serve_question one, two;
	serve_question_init(&one);
	serve_question_init(&two);
	const struct serve_argument whole[] = {{"file", "0"}, {"focus", "x\n--kind=y"}},
				    parts[] = {{"file", "0"}, {"focus", "x"}, {"kind", "y"}};
	CHECK_OK(serve_question_take(&questions, whole, 2, &one));
	CHECK_OK(serve_question_take(&questions, parts, 3, &two));
	CHECK(strcmp(one.key.data, two.key.data) != 0);
	serve_question_deinit(&one);
	serve_question_deinit(&two);
}

CASE(looks, "a process is looked at by each question")
{
	struct serve_questions questions = questions_of(true);
	struct serve_question first, second;
	serve_question_init(&first);
	serve_question_init(&second);
	const struct serve_argument argument = {"file", "2"};
	CHECK_OK(serve_question_take(&questions, &argument, 1, &first));
	CHECK_OK(serve_question_take(&questions, &argument, 1, &second));
	CHECK(strcmp(first.key.data, second.key.data) != 0);
	CHECK_STR(first.words.data[first.words.len - 1], "123");
	serve_question_deinit(&first);
	serve_question_deinit(&second);
}

CASE(keys, "a key changes with each word and with the file, and with nothing else")
{
	struct serve_questions questions = questions_of(false);
	const struct serve_argument plain[] = {{"file", "0"}},
				    focus[] = {{"focus", "a"}, {"file", "0"}},
				    order[] = {{"file", "0"}, {"focus", "a"}};
	struct serve_question first, second, third, grown;
	serve_question_init(&first);
	serve_question_init(&second);
	serve_question_init(&third);
	serve_question_init(&grown);
	CHECK_OK(serve_question_take(&questions, plain, 1, &first));
	CHECK_OK(serve_question_take(&questions, focus, 2, &second));
	CHECK_OK(serve_question_take(&questions, order, 2, &third));
	files[0].bytes++;
	CHECK_OK(serve_question_take(&questions, plain, 1, &grown));
	CHECK(strcmp(first.key.data, second.key.data) != 0);
	CHECK_STR(second.key.data, third.key.data);
	CHECK(strcmp(first.key.data, grown.key.data) != 0);
	serve_question_deinit(&first);
	serve_question_deinit(&second);
	serve_question_deinit(&third);
	serve_question_deinit(&grown);
}

/* Numbers that are the same each time. */
static uint32_t next_number(uint32_t *state)
{
	return *state = *state * 1664525u + 1013904223u;
}

CASE(hostile, "of any arguments only words of these forms are made")
{
	static const char *const names[] = {"file", "base", "focus", "kind", "all-frames", "output",
		"", "-", "file\x01", "focus\n"};
	static const char bytes[] = "0123abc-=/.%&\n\x7f\xff\xc3 '\"$`;";
	struct serve_questions questions = questions_of(true);
	uint32_t state = 7;
	for (int round = 0; round < TAP_SOME(20000); round++) {
		struct serve_argument arguments[8];
		char values[8][12];
		size_t count = next_number(&state) >> 16 & 7;
		for (size_t i = 0; i < count; i++) {
			size_t len = next_number(&state) >> 16 & 7;
			for (size_t k = 0; k < len; k++)
				values[i][k] =
					bytes[(next_number(&state) >> 16) % (sizeof(bytes) - 1)];
			values[i][len] = '\0';
			arguments[i] = (struct serve_argument){
				names[(next_number(&state) >> 16) % 10], values[i]};
		}
		struct serve_question question;
		serve_question_init(&question);
		struct error *error = serve_question_take(&questions, arguments, count, &question);
		for (size_t i = 6; !error && i < question.words.len - 2; i++) {
			const char *word = question.words.data[i];
			CHECK(!strncmp(word, "--focus=", 8) || !strncmp(word, "--kind=", 7) ||
				!strcmp(word, "--all-frames") || !strcmp(word, "--base=a.hpw") ||
				!strcmp(word, "--base=-o") || !strcmp(word, "--base=123"));
		}
		if (!error)
			CHECK_STR(question.words.data[question.words.len - 2], "--");
		error_destroy(error);
		serve_question_deinit(&question);
	}
}

TAP_MAIN
