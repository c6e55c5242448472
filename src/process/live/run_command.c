/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/run_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/text.h"

#define OUTPUT_MAX ((size_t)1 << 20)
#define WAIT_NS 10000000000
#define LOADER "/lib64/ld-linux-x86-64.so.2"

static int64_t monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static pid_t start_command(char *const argv[], int out)
{
	posix_spawn_file_actions_t files;
	if (posix_spawn_file_actions_init(&files))
		return -1;
	pid_t pid;
	bool ok = !posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) &&
		  !posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0) &&
		  !posix_spawn_file_actions_adddup2(&files, out, 1) &&
		  !posix_spawn(&pid, argv[0], &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return ok ? pid : -1;
}

/* Everything until the other side closes; false: too much, or too late. */
static bool read_until(int fd, int64_t deadline, struct text *ret)
{
	char part[4096];
	for (;;) {
		int64_t left_ms = (deadline - monotonic_ns()) / 1000000;
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		int found = left_ms > 0 ? poll(&ready, 1, (int)left_ms) : 0;
		if (found < 0 && errno == EINTR)
			continue;
		ssize_t n = found > 0 ? read(fd, part, sizeof(part)) : -1;
		if (n <= 0)
			return n == 0;
		text_add_n(ret, part, (size_t)n);
		if (ret->len > OUTPUT_MAX)
			return false;
	}
}

char *command_output(char *const argv[])
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	_cleanup_close_ int out = ends[0];
	pid_t pid = start_command(argv, ends[1]);
	close(ends[1]);
	if (pid < 0)
		return NULL;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	bool whole = read_until(out, monotonic_ns() + WAIT_NS, &text);
	if (!whole)
		kill(pid, SIGKILL);
	int status;
	child_wait(pid, &status, 0);
	return whole && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text_steal(&text) : NULL;
}

/* dpkg knows a file by the path that its package gave it: /lib may be a link to /usr/lib now. */
char *debian_package_of(const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	const char *names[] = {real, real && !strncmp(real, "/usr/", 5) ? real + 4 : NULL, path};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!names[i])
			continue;
		char *argv[] = {
			(char *)"/usr/bin/dpkg-query", (char *)"-S", (char *)names[i], NULL};
		char *output =
			command_output(argv); /* "libc6:amd64: /lib/…", "a, b: /…" for several */
		if (!output)
			continue;
		output[strcspn(output, ":,\n")] = '\0';
		if (*output)
			return output;
		free(output);
	}
	return NULL;
}

char *linked_libraries_of(const char *path)
{
	/* $ORIGIN in its search path is where the file is, not a link to it (ld.so(8)). */
	_cleanup_free_ char *real = realpath(path, NULL);
	if (!real)
		return NULL;
	char *argv[] = {(char *)LOADER, (char *)"--list", real, NULL};
	/* "	libc.so.6 => /lib/… (0x…)" */
	_cleanup_free_ char *output = command_output(argv);
	if (!output)
		return NULL;
	struct text paths;
	text_init(&paths);
	char *rest = output;
	for (char *line; (line = strsep(&rest, "\n"));) {
		/* What is preloaded, and the linker itself, have no arrow. */
		const char *arrow = strstr(line, "=> /"), *end = strrchr(line, ' ');
		const char *start_command = arrow ? arrow + 3 : line[0] == '\t' ? line + 1 : "";
		if (*start_command != '/' || !end || end <= start_command)
			continue;
		text_add_n(&paths, start_command, (size_t)(end - start_command));
		text_add_char(&paths, '\n');
	}
	return text_steal(&paths);
}
