/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linked statically: forks twice, as a daemon does, and lives in a session of its own until its
 * standard input ends. The first process ends when the last one is on its own. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static void live_on(void)
{
	char byte;
	int null = open("/dev/null", O_WRONLY);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	close(null);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	_exit(0);
}

int main(void)
{
	int status;
	pid_t child = fork();
	if (!child) {
		setsid();
		child = fork();
		if (!child)
			live_on();
		_exit(child < 0);
	}
	return child < 0 || waitpid(child, &status, 0) != child || status;
}
