/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unit tests that speak TAP. A file holds cases and ends with TAP_MAIN:
 *
 *	CASE(vec_grows, "a vector grows and keeps its elements")
 *	{
 *		CHECK_OK(thing_open("x", &thing));
 *		CHECK_U64(thing->len, 3);
 *	}
 *	TAP_MAIN
 *
 * Each case runs in a child of its own, so that a crash, a hang or a leak (in a sanitized build)
 * fails one case. A failed check ends its case. `TEST WORD…` runs only cases whose name holds a
 *WORD, and `TAP_NO_FORK=1` runs them in the process itself, for a debugger.
 */
#ifndef TESTS_LIB_TAP_H
#define TESTS_LIB_TAP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

#define TAP_CASES_MAX 512
#define TAP_SECONDS_MAX 120 /* a case that takes longer hangs */
#define TAP_EXIT_FAILED 1
#define TAP_EXIT_SKIPPED 77

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAP_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TAP_SANITIZED 1
#endif
#endif
#ifndef TAP_SANITIZED
#define TAP_SANITIZED 0
#endif

/* Of so many like cases those that are tried: all where tests may take long (`./dev test long`, or
 * by name), else half; with a sanitizer, which takes up to ten times as long, a quarter of these.
 */
#define TAP_SOME(count) ((count) / ((TAP_SANITIZED ? 4 : 1) * (getenv("HW_TEST_LONG") ? 1 : 2)))
/* How far it is from one of like cases, which stand side by side, to the next one tried: odd, so
 * that each bit of bytes comes up. */
#define TAP_STRIDE (TAP_SANITIZED ? 5 : 1)

/* Sanitized builds: no memory is an answer, undefined behaviour is a failure. Once in a program: a
 * file that is but a part of one defines TAP_PART. */
#ifndef TAP_PART
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "halt_on_error=1:print_stacktrace=1";
}
#endif

static struct tap_case {
	const char *name, *title;
	void (*run)(void);
} tap_cases[TAP_CASES_MAX];
static size_t tap_count;

#define CASE(name, title)                                                                          \
	static void case_##name(void);                                                             \
	__attribute__((constructor)) static void register_##name(void)                             \
	{                                                                                          \
		if (tap_count == TAP_CASES_MAX)                                                    \
			abort();                                                                   \
		tap_cases[tap_count++] = (struct tap_case){#name, title, case_##name};             \
	}                                                                                          \
	static void case_##name(void)

/* Ends the case without what runs at exit: a leak report would only hide the reason. */
#define tap_fail(...)                                                                              \
	do {                                                                                       \
		printf("# %s:%d: ", __FILE__, __LINE__);                                           \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
		fflush(stdout);                                                                    \
		_exit(TAP_EXIT_FAILED);                                                            \
	} while (0)

#define SKIP(...)                                                                                  \
	do {                                                                                       \
		printf("# skipped: ");                                                             \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
		fflush(stdout);                                                                    \
		_exit(TAP_EXIT_SKIPPED);                                                           \
	} while (0)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			tap_fail("not so: %s", #condition);                                        \
	} while (0)

#define CHECK_U64(is, expected)                                                                    \
	do {                                                                                       \
		uint64_t is_ = (uint64_t)(is), expected_ = (uint64_t)(expected);                   \
		if (is_ != expected_)                                                              \
			tap_fail("%s is %" PRIu64 ", expected %" PRIu64, #is, is_, expected_);     \
	} while (0)

/* Either may be NULL. */
#define CHECK_STR(is, expected)                                                                    \
	do {                                                                                       \
		const char *is_ = (is), *expected_ = (expected);                                   \
		if (is_ != expected_ && (!is_ || !expected_ || strcmp(is_, expected_) != 0))       \
			tap_fail("%s is \"%s\", expected \"%s\"", #is, is_ ? is_ : "(null)",       \
				expected_ ? expected_ : "(null)");                                 \
	} while (0)

#define CHECK_CONTAINS(is, part)                                                                   \
	do {                                                                                       \
		const char *is_ = (is), *part_ = (part);                                           \
		if (!is_ || !strstr(is_, part_))                                                   \
			tap_fail(                                                                  \
				"%s is \"%s\", without \"%s\"", #is, is_ ? is_ : "(null)", part_); \
	} while (0)

#define CHECK_MEM(is, expected, len)                                                               \
	do {                                                                                       \
		if (memcmp((is), (expected), (len)) != 0)                                          \
			tap_fail("%s differs from %s", #is, #expected);                            \
	} while (0)

/* The call must succeed. */
#define CHECK_OK(call)                                                                             \
	do {                                                                                       \
		struct error *error_ = (call);                                                     \
		if (error_)                                                                        \
			tap_fail("%s: %s", #call, error_->message);                                \
	} while (0)

/* The call must fail with that code and a message that holds `part`. */
#define CHECK_ERROR(call, expected_code, part)                                                     \
	do {                                                                                       \
		struct error *error_ = (call);                                                     \
		if (!error_)                                                                       \
			tap_fail("%s succeeds", #call);                                            \
		if (error_->code != (expected_code) || !strstr(error_->message, (part)))           \
			tap_fail("%s: error %d \"%s\", expected %d with \"%s\"", #call,            \
				(int)error_->code, error_->message, (int)(expected_code), (part)); \
		error_destroy(error_);                                                             \
	} while (0)

/* The child's wait status. */
static inline int tap_run_forked(const struct tap_case *tap)
{
	fflush(stdout);
	pid_t child = fork();
	if (child < 0) {
		perror("# fork");
		return TAP_EXIT_FAILED << 8;
	}
	if (child == 0) {
		alarm(TAP_SECONDS_MAX);
		tap->run();
		exit(0);
	}
	int status;
	while (waitpid(child, &status, 0) < 0)
		;
	return status;
}

static inline bool tap_report(size_t number, const struct tap_case *tap, int status)
{
	bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == TAP_EXIT_SKIPPED;
	bool passed = skipped || status == 0;
	if (WIFSIGNALED(status))
		printf("# ended by signal %d (%s)\n", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	printf("%s %zu - %s%s\n", passed ? "ok" : "not ok", number, tap->title,
		skipped ? " # SKIP" : "");
	fflush(stdout);
	return passed;
}

static inline bool tap_wanted(const struct tap_case *tap, int argc, char **argv)
{
	bool wanted = argc < 2;
	for (int i = 1; i < argc; i++)
		wanted |= strstr(tap->name, argv[i]) != NULL;
	return wanted;
}

static inline int tap_main(int argc, char **argv)
{
	size_t number = 0;
	bool passed = true, forks = !getenv("TAP_NO_FORK");
	for (size_t i = 0; i < tap_count; i++) {
		if (!tap_wanted(&tap_cases[i], argc, argv))
			continue;
		int status = 0;
		if (forks)
			status = tap_run_forked(&tap_cases[i]);
		else
			tap_cases[i].run();
		passed &= tap_report(++number, &tap_cases[i], status);
	}
	printf("1..%zu\n", number);
	return passed ? 0 : 1;
}

#define TAP_MAIN                                                                                   \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return tap_main(argc, argv);                                                       \
	}

#endif
