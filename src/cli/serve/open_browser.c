/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/serve/open_browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pager.h"

#define OPENER "xdg-open"

/* In a session of its own: the browser stays when the server ends. */
static void run_opener(const char *url)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (setsid() < 0 || nothing < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 1) < 0 ||
		dup2(nothing, 2) < 0)
		_exit(127);
	close_range(3, ~0u, 0);
	/* What it starts is nobody's child here. */
	if (fork() == 0) {
		execlp(OPENER, OPENER, url, NULL);
		_exit(127);
	}
	_exit(0);
}

void browser_open(const char *url)
{
	if (geteuid() == 0) {
		message("no browser is opened for root; open the URL as yourself");
		return;
	}
	if (!program_in_path(OPENER)) {
		message("no " OPENER " in $PATH (package xdg-utils): open the URL yourself");
		return;
	}
	pid_t pid = fork();
	int status;
	if (pid == 0)
		run_opener(url);
	if (pid < 0)
		message("cannot start " OPENER ": %s", strerror(errno));
	else
		child_wait(pid, &status, 0);
}
