/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of the real Valgrind from unit tests. */
#ifndef TESTS_UNIT_VALGRIND_H
#define TESTS_UNIT_VALGRIND_H

#include "base/cleanup.h"
#include "base/text.h"
#include "lib/tap.h"

#define VALGRIND_EXIT_ERRORS 9
#define VALGRIND_SECONDS_MAX "100"

/* Skips the case where Valgrind is missing, or would have to run a sanitized program. */
static inline void need_valgrind(void)
{
	if (TAP_SANITIZED)
		SKIP("Valgrind runs no sanitized programs");
	if (system("valgrind --version >/dev/null 2>&1") != 0)
		SKIP("no Valgrind here (./dev deps --peers installs it)");
}

/*
 * Runs `valgrind OPTIONS --suppressions=FILE COMMAND`, FILE with that text, without input. Returns
 * its exit status, which is VALGRIND_EXIT_ERRORS if it found errors; all output goes to `ret`.
 */
static inline int valgrind(
	const char *suppressions, const char *options, const char *command, struct text *ret)
{
	char file[] = "/tmp/suppress-XXXXXX";
	int fd = mkstemp(file);
	CHECK(fd >= 0);
	CHECK(write(fd, suppressions, strlen(suppressions)) == (ssize_t)strlen(suppressions));
	close(fd);
	_cleanup_(text_deinit) struct text line;
	text_init(&line);
	text_printf(&line,
		"timeout -k 5 " VALGRIND_SECONDS_MAX " valgrind --error-exitcode=%d %s "
		"--suppressions=%s %s 2>&1 </dev/null",
		VALGRIND_EXIT_ERRORS, options, file, command);
	FILE *output = popen(line.data, "r");
	CHECK(output);
	char bytes[4096];
	size_t got;
	while ((got = fread(bytes, 1, sizeof(bytes), output)) > 0)
		text_add_n(ret, bytes, got);
	int status = pclose(output);
	unlink(file);
	CHECK(!ret->failed);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
