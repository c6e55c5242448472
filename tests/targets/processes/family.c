/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * family WAY [COUNT]: starts other processes, each of which is a leaf: it makes LEAF_BLOCKS blocks
 * of LEAF_BYTES and frees half of them. Prints the PID of each leaf, a line each, and waits for all
 * but orphans. Not a truth of its own: the test adds up the recordings.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEAF_BLOCKS 40
#define LEAF_BYTES 3001
#define LEAF_STATUS 7
#define OWN_BYTES 5003
#define INHERITED 6
#define MIDDLE_BYTES 7001
#define THREADS 8
#define FORKS_EACH 5
#define STORM 200

extern char **environ;

static char *self;
static int storm = STORM;
static char leaf_name[] = "leaf";
static char *volatile inherited[INHERITED];

/* By write(2): stdio would allocate, and in a forked child say things twice. */
static void print_pid(pid_t pid)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "%d\n", (int)pid);
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(99);
}

static void leaf(void)
{
	char *volatile blocks[LEAF_BLOCKS];
	for (int i = 0; i < LEAF_BLOCKS; i++)
		blocks[i] = malloc(LEAF_BYTES);
	for (int i = 0; i < LEAF_BLOCKS / 2; i++)
		free(blocks[i]);
}

static void leaf_exit(void)
{
	leaf();
	_exit(LEAF_STATUS);
}

static void reap(pid_t pid)
{
	int status;
	print_pid(pid);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != LEAF_STATUS)
		_exit(98);
}

static void by_fork(void)
{
	pid_t pid = fork();
	if (!pid)
		leaf_exit();
	reap(pid);
}

/* The child frees what it began with, and makes one block of it larger. */
static void by_inheritance(void)
{
	for (int i = 0; i < INHERITED; i++)
		inherited[i] = malloc(OWN_BYTES);
	pid_t pid = fork();
	if (!pid) {
		char *volatile larger = realloc(inherited[0], LEAF_BYTES);
		for (int i = 1; i < INHERITED; i++)
			free(inherited[i]);
		free(larger);
		leaf_exit();
	}
	reap(pid);
	for (int i = 0; i < INHERITED; i++)
		free(inherited[i]);
}

/* A child that has freed two of its blocks forks another: what that one began with is its
 * grandparent's. The parents end at once, as a daemon's do, and the last waits for that. */
static void become_daemon(bool by_libc)
{
	int gone[2];
	char byte;
	for (int i = 0; i < INHERITED; i++)
		inherited[i] = malloc(OWN_BYTES);
	if (pipe(gone))
		_exit(97);
	pid_t pid = fork();
	if (pid) {
		int status;
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		return;
	}
	free(inherited[0]);
	free(inherited[1]);
	inherited[0] = malloc(MIDDLE_BYTES);
	if (by_libc ? daemon(1, 1) : fork())
		_exit(0);
	close(gone[1]);
	while (read(gone[0], &byte, 1) > 0)
		;
	print_pid(getpid());
	leaf_exit();
}

static void by_daemon(void)
{
	become_daemon(false);
}

static void by_daemon_of_libc(void)
{
	become_daemon(true);
}

static void by_vfork(void)
{
	pid_t pid = vfork();
	if (!pid) {
		execl(self, self, "leaf", (char *)NULL);
		_exit(97);
	}
	reap(pid);
}

static void by_spawn(void)
{
	char *argv[] = {self, leaf_name, NULL};
	pid_t pid;
	if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
		_exit(97);
	reap(pid);
}

static void by_clone(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid)
		leaf_exit();
	reap(pid);
}

static void by_system(void)
{
	char command[4096];
	snprintf(command, sizeof(command), "'%s' print-leaf; exit 0", self);
	if (system(command))
		_exit(97);
}

static void by_popen(void)
{
	char command[4096], line[64];
	snprintf(command, sizeof(command), "'%s' print-leaf; exit 0", self);
	FILE *pipe = popen(command, "r");
	if (!pipe || !fgets(line, sizeof(line), pipe) || pclose(pipe))
		_exit(97);
	print_pid(atoi(line));
}

static void *fork_some(void *argument)
{
	(void)argument;
	for (int i = 0; i < FORKS_EACH; i++)
		by_fork();
	return NULL;
}

static void by_threads(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, fork_some, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void by_storm(void)
{
	pid_t pids[STORM];
	for (int i = 0; i < storm; i++) {
		pids[i] = fork();
		if (!pids[i])
			leaf_exit();
	}
	for (int i = 0; i < storm; i++)
		reap(pids[i]);
}

/* Nobody waits: it allocates only when its standard input has ended, long after we have. */
static void by_orphan(void)
{
	pid_t pid = fork();
	if (!pid) {
		char byte;
		while (read(STDIN_FILENO, &byte, 1) > 0)
			;
		leaf_exit();
	}
	print_pid(pid);
}

static void as_leaf(void)
{
	leaf_exit();
}

static void as_print_leaf(void)
{
	print_pid(getpid());
	leaf_exit();
}

static void by_empty_environment(void)
{
	char *argv[] = {self, leaf_name, NULL}, *none[] = {NULL};
	pid_t pid = fork();
	if (!pid) {
		execve(self, argv, none);
		_exit(97);
	}
	reap(pid);
	if (posix_spawn(&pid, self, NULL, NULL, argv, none))
		_exit(97);
	reap(pid);
	clearenv();
	pid = vfork();
	if (!pid) {
		execl(self, self, "leaf", (char *)NULL);
		_exit(97);
	}
	reap(pid);
}

/* libc's shells after the environment was emptied, and after it got something again; it stays as it
 * is. */
static void by_shells_without_environment(void)
{
	clearenv();
	by_system();
	by_popen();
	if (environ)
		_exit(96);
	setenv("A", "b", 1);
	char **own = environ;
	by_system();
	by_popen();
	if (environ != own || strcmp(own[0], "A=b") != 0 || own[1])
		_exit(96);
	setenv("LD_PRELOAD", "", 1);
	by_system();
	if (*getenv("LD_PRELOAD") || getenv("HEAPWISE_SESSION"))
		_exit(96);
}

static const struct {
	const char *name;
	void (*function)(void);
} ways[] = {
	{"leaf", as_leaf},
	{"print-leaf", as_print_leaf},
	{"fork", by_fork},
	{"inheritance", by_inheritance},
	{"daemon", by_daemon},
	{"daemon of libc", by_daemon_of_libc},
	{"vfork", by_vfork},
	{"posix_spawn", by_spawn},
	{"clone", by_clone},
	{"system", by_system},
	{"popen", by_popen},
	{"threads", by_threads},
	{"storm", by_storm},
	{"orphan", by_orphan},
	{"environment", by_empty_environment},
	{"shells", by_shells_without_environment},
};

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc == 3 && atoi(argv[2]) > 0 && atoi(argv[2]) < STORM)
		storm = atoi(argv[2]);
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!strcmp(argv[1], ways[i].name)) {
			ways[i].function();
			return 0;
		}
	}
	return 2;
}
