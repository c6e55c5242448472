/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints what a program is given by whoever starts it: arguments, environment, descriptors, folder,
 * mask, signals, limits, group and session. Then it copies standard input to standard output and
 * ends with the status of its first argument. One allocation, so that there is something to record.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* By write(2): what is printed must not depend on when stdio flushes. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char line[8192];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	if (length > 0 && length < (int)sizeof line &&
		write(STDOUT_FILENO, line, (size_t)length) < 0)
		exit(99);
}

static void descriptors(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		struct stat status;
		if (fstat(fd, &status))
			continue;
		say("descriptor %d: type %o, flags %o, close-on-exec %d\n", fd,
			status.st_mode & S_IFMT, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD));
	}
}

static void signals(void)
{
	sigset_t blocked, pending;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	sigpending(&pending);
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action))
			continue;
		const char *what = action.sa_handler == SIG_DFL   ? "default"
				   : action.sa_handler == SIG_IGN ? "ignored"
								  : "handler";
		say("signal %d: %s%s%s\n", number, what,
			sigismember(&blocked, number) ? ", blocked" : "",
			sigismember(&pending, number) ? ", pending" : "");
	}
}

static void limits(void)
{
	for (int resource = 0; resource < RLIMIT_NLIMITS; resource++) {
		struct rlimit limit;
		if (!getrlimit((__rlimit_resource_t)resource, &limit))
			say("limit %d: %lu %lu\n", resource, (unsigned long)limit.rlim_cur,
				(unsigned long)limit.rlim_max);
	}
}

int main(int count, char **arguments)
{
	void *volatile block = malloc(1);
	free(block);
	for (int i = 0; i < count; i++)
		say("argument %d: %s\n", i, arguments[i]);
	for (char **variable = environ; *variable; variable++)
		say("environment: %s\n", *variable);
	char folder[4096];
	say("folder: %s\n", getcwd(folder, sizeof folder));
	mode_t mask = umask(022);
	say("mask: %o\n", mask);
	descriptors();
	signals();
	limits();
	say("priority: %d\n", getpriority(PRIO_PROCESS, 0));
	say("dumpable: %d, no new privileges: %d, death signal kept: %d\n",
		prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
		prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0));
	say("leads its group: %d, its session: %d\n", getpgrp() == getpid(), getsid(0) == getpid());
	char buffer[4096];
	for (ssize_t n; (n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0;)
		if (write(STDOUT_FILENO, buffer, (size_t)n) != n)
			return 98;
	if (write(STDERR_FILENO, "on standard error\n", 18) != 18)
		return 98;
	return count > 1 ? atoi(arguments[1]) : 0;
}
