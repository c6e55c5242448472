/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/engine_try.h"

#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "capture/check_settings.h"
#include "cli/check/engine_valgrind.h"
#include "cli/check/trial.h"
#include "process/program.h"

#define PROGRAM "/bin/true"
#define TRIAL_NS 30000000000u

static bool stream_has(const struct trial *trial, const char *words)
{
	for (int i = 0; i < TRIAL_STREAMS; i++)
		if (trial->kept[i].len &&
			memmem(trial->kept[i].data, trial->kept[i].len, words, strlen(words)))
			return true;
	return false;
}

static enum check_engine_state judge_engine(const struct trial *trial, struct text *why)
{
	if (!trial->timed_out && WIFEXITED(trial->status) && !WEXITSTATUS(trial->status))
		return CHECK_ENGINE_WORKS;
	if (trial->timed_out)
		text_printf(why, "valgrind is installed, but %s did not end under it within %u s",
			PROGRAM, (unsigned)(TRIAL_NS / 1000000000u));
	else if (stream_has(trial, "a function redirection"))
		text_add(why, "valgrind is installed, but can't run programs: it does not find "
			      "the symbols of the dynamic linker, which are in debug information");
	else if (WIFSIGNALED(trial->status))
		text_printf(why, "valgrind is installed, but signal %d ended it when it ran %s",
			WTERMSIG(trial->status), PROGRAM);
	else
		text_printf(why, "valgrind is installed, but ended with status %d when it ran %s",
			WEXITSTATUS(trial->status), PROGRAM);
	return !trial->timed_out && stream_has(trial, "a function redirection")
		       ? CHECK_ENGINE_NO_SYMBOLS
		       : CHECK_ENGINE_FAILS;
}

static struct error *run_engine(const char *path, enum check_engine_state *ret, struct text *why)
{
	char *const argv[] = {(char *)"valgrind", (char *)"--tool=memcheck", (char *)"-q",
		(char *)"--vgdb=no", (char *)PROGRAM, NULL};
	const struct trial_program program = {.file = path,
		.argv = argv,
		.preload = "",
		.input = -1,
		.shared = -1,
		.most_ns = TRIAL_NS};
	struct trial trial;
	trial_init(&trial);
	struct error *error = trial_run(&program, HW_CHECK_ENV "=", &trial);
	if (!error)
		*ret = judge_engine(&trial, why);
	trial_deinit(&trial);
	return error;
}

struct error *check_engine_try(enum check_engine_state *ret, struct text *why)
{
	_cleanup_error_ struct error *missing = check_engine_missing();
	if (missing) {
		text_add(why, missing->message);
		*ret = CHECK_ENGINE_MISSING;
		return NULL;
	}
	_cleanup_(program_deinit) struct program program;
	struct error *error = program_examine("valgrind", &program);
	return error ? error : run_engine(program.path ? program.path : "valgrind", ret, why);
}
