/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/setup/program_end.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "cli/terminal/message.h"

int program_end_like(int status)
{
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	int number = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	signal(number, SIG_DFL);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number;
}

int program_end_not_executed(const char *name, int why)
{
	message("%s: %s", name, strerror(why));
	return why == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}
