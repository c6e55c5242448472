/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "process/program.h"

extern char **environ;

static pid_t pager; /* 0: none */

bool program_in_path(const char *name)
{
	struct program program;
	_cleanup_error_ struct error *error = program_examine(name, &program);
	bool found = !error && program.path;
	program_deinit(&program);
	return found;
}

static const char *pager_command(void)
{
	const char *command = getenv("HEAPWISE_PAGER");
	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = program_in_path("less") ? "less" : "";
	return command[0] && strcmp(command, "cat") != 0 ? command : NULL;
}

int shell_spawn(const char *command, int in, pid_t *ret)
{
	char *arguments[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGINT);
	sigaddset(&defaults, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	int err = posix_spawn(ret, "/bin/sh", &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return err;
}

void pager_start(void)
{
	const char *command = pager_command();
	int ends[2];
	if (pager || !command || !isatty(STDOUT_FILENO) || pipe2(ends, O_CLOEXEC))
		return;
	_cleanup_close_ int in = ends[0], out = ends[1];
	/* Colours as they are, nothing cleared, and gone at once where one screen is enough. */
	setenv("LESS", "FRX", 0);
	if (shell_spawn(command, in, &pager)) {
		pager = 0;
		return;
	}
	dup2(out, STDOUT_FILENO);
	/* ^C is for the pager; we end when it does. */
	signal(SIGINT, SIG_IGN);
	atexit(pager_end);
}

void pager_end(void)
{
	if (!pager)
		return;
	close(STDOUT_FILENO);
	child_wait(pager, NULL, 0);
	pager = 0;
}
