/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of the allocation functions, one instruction at a time (EFLAGS.TF), again and again: the
 * handler forks at the first instruction, then at the second, and so on. The child ends the call,
 * goes on to allocate and ends well. Says how many instructions each function took. Waits before
 * for a line on stdin, and says that it does: it may be attached or told to stop then. The line is
 * a number: fork at each of so many instructions.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define STEPS_MOST 20000
#define CHILD_STATUS 41
#define TRAP_FLAG 0x100

static volatile long steps, fork_at;
static volatile bool in_child;
static char *volatile kept;

/* The child goes on at full speed: where signals are blocked a step would end it. */
static void step(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info;
	if (++steps != fork_at)
		return;
	pid_t pid = fork();
	if (!pid) {
		in_child = true;
		((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		WEXITSTATUS(status) != CHILD_STATUS) {
		printf("forked at instruction %ld: status %#x\n", fork_at, pid < 0 ? -1 : status);
		fflush(stdout);
		_exit(1);
	}
}

static inline void steps_begin(void)
{
	__asm__ volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
}

static inline void steps_end(void)
{
	__asm__ volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "memory", "cc");
}

static void do_malloc(void)
{
	kept = malloc(100);
}

static void do_free(void)
{
	free(kept);
}

static void do_realloc(void)
{
	kept = realloc(kept, 5000);
}

static void do_nothing(void)
{
}

static void allocate(void)
{
	kept = malloc(100);
}

static void release(void)
{
	free(kept);
}

static const struct {
	const char *name;
	void (*before)(void), (*call)(void), (*after)(void);
} calls[] = {
	{"malloc", do_nothing, do_malloc, release},
	{"free", allocate, do_free, do_nothing},
	{"realloc", allocate, do_realloc, release},
};

static __attribute__((noreturn)) void child_ends(void)
{
	for (size_t i = 0; i < 100; i++)
		free(malloc(100 + i));
	_exit(CHILD_STATUS);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_RESTART | SA_SIGINFO};
	char line[80];
	sigaction(SIGTRAP, &action, NULL);
	release();
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	long stride = fgets(line, sizeof(line), stdin) ? atol(line) : 0;
	if (stride < 1)
		return 2;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		/* What is cached is usual. */
		calls[i].before();
		calls[i].call();
		calls[i].after();
		for (fork_at = 1 + (long)i % stride; fork_at < STEPS_MOST; fork_at += stride) {
			calls[i].before();
			steps = 0;
			steps_begin();
			calls[i].call();
			steps_end();
			if (in_child)
				child_ends();
			calls[i].after();
			if (steps < fork_at)
				break;
		}
		printf("%s: %ld instructions\n", calls[i].name, steps);
		fflush(stdout);
	}
	return 0;
}
