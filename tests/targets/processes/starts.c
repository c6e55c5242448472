/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * starts WAY PROGRAM [COUNT]: starts PROGRAM in one way, COUNT times, one after the other, and
 * waits for it each time. Prints the PID of who became it, a line each, where that is known. Fails
 * if a child ended otherwise than with 0, or if errno or the result of a failing exec are wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_ARGUMENT (1 << 18) /* more than the kernel takes for one */

extern char **environ;

static char *program;

static void fail(const char *what)
{
	dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
	_exit(97);
}

static void print_pid(pid_t pid)
{
	dprintf(STDOUT_FILENO, "%d\n", (int)pid);
}

static void reap(pid_t pid)
{
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail("start");
	if (status)
		fail("the child's status");
}

static void by_fork(void)
{
	pid_t pid = fork();
	if (!pid) {
		execl(program, program, (char *)NULL);
		fail("execl");
	}
	print_pid(pid);
	reap(pid);
}

static void by_vfork(void)
{
	pid_t pid = vfork();
	if (!pid) {
		execlp(program, program, (char *)NULL);
		_exit(96);
	}
	print_pid(pid);
	reap(pid);
}

static void by_spawn(void)
{
	char *argv[] = {program, NULL};
	pid_t pid;
	errno = posix_spawn(&pid, program, NULL, NULL, argv, environ);
	if (errno)
		fail("posix_spawn");
	print_pid(pid);
	reap(pid);
}

static void by_system(void)
{
	if (system(program))
		fail("system");
}

static void by_exec(void)
{
	print_pid(getpid());
	execv(program, (char *[]){program, NULL});
	fail("execv");
}

static void failing_exec(char *argument)
{
	char *argv[] = {program, argument, NULL};
	if (execv(program, argv) != -1 || errno != E2BIG)
		fail("execv with an argument that is too long");
}

/* By all ways, and each fails; then one comes about. */
static void after_failing(void)
{
	char *argument = malloc(LONG_ARGUMENT);
	memset(argument, 'x', LONG_ARGUMENT - 1);
	argument[LONG_ARGUMENT - 1] = 0;
	char *argv[] = {program, argument, NULL};
	pid_t pid = vfork();
	if (!pid) {
		failing_exec(argument);
		_exit(0);
	}
	reap(pid);
	failing_exec(argument);
	if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != E2BIG)
		fail("posix_spawn with an argument that is too long");
	free(argument);
	by_fork();
}

/* Nobody waits for it. */
static void by_vfork_alone(void)
{
	pid_t pid = vfork();
	if (!pid) {
		execl(program, program, (char *)NULL);
		_exit(96);
	}
	print_pid(pid);
}

/* By a child that does something itself, and so is recorded, and by that one's child. */
static void by_child(void)
{
	pid_t pid = fork();
	if (!pid) {
		void *volatile block = malloc(4003);
		by_fork();
		by_spawn();
		free(block);
		_exit(0);
	}
	reap(pid);
}

/* All descriptors that the program may have are taken. */
static void without_descriptors(void)
{
	int taken[64], count = 0;
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 32;
	setrlimit(RLIMIT_NOFILE, &limit);
	while (count < 64 && (taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		count++;
	if (count == 64 || errno != EMFILE)
		fail("open");
	by_fork();
	by_spawn();
	while (count)
		close(taken[--count]);
	struct rlimit after;
	if (getrlimit(RLIMIT_NOFILE, &after) || after.rlim_cur != 32)
		fail("the limit");
}

static void *start_by_name(void *unused)
{
	char *argv[] = {program, NULL};
	pid_t pid;
	errno = posix_spawnp(&pid, program, NULL, NULL, argv, environ);
	if (errno)
		fail("posix_spawnp");
	print_pid(pid);
	reap(pid);
	by_vfork();
	return unused;
}

/* On the smallest stack that a thread may have. */
static void by_small_thread(void)
{
	pthread_attr_t small;
	pthread_t thread;
	pthread_attr_init(&small);
	errno = pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
	if (!errno)
		errno = pthread_create(&thread, &small, start_by_name, NULL);
	if (errno)
		fail("pthread_create");
	pthread_join(thread, NULL);
}

/* The collector can't be reached any more. */
static void by_spawn_alone(void)
{
	unlink(getenv("HEAPWISE_SESSION"));
	by_spawn();
}

static const struct {
	const char *name;
	void (*start)(void);
} ways[] = {
	{"fork", by_fork},
	{"vfork", by_vfork},
	{"posix_spawn", by_spawn},
	{"system", by_system},
	{"exec", by_exec},
	{"failing", after_failing},
	{"untold", by_spawn_alone},
	{"unwaited", by_vfork_alone},
	{"child", by_child},
	{"full", without_descriptors},
	{"small", by_small_thread},
};

int main(int argc, char **argv)
{
	void *volatile block = malloc(4001);
	if (argc < 3)
		return 2;
	program = argv[2];
	for (int n = argc > 3 ? atoi(argv[3]) : 1; n > 0; n--) {
		for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
			if (!strcmp(argv[1], ways[i].name))
				ways[i].start();
		}
	}
	free(block);
	return 0;
}
