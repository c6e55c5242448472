/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that stands still in the midst of malloc(), which cuts a chunk from what the heap has
 * not used so far: the arena leads to the rest already, the chunk's head still has the size of all.
 * Prints its number, and ends it at the end of the input.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES_LARGE 5000u
#define BYTES 60000u

static uint64_t *top; /* of struct malloc_state, to which a free large block points */
static void *volatile last;

static void prepare(void)
{
	uint64_t *large = malloc(BYTES_LARGE);
	last = malloc(40);
	uint64_t *freed = large; /* its words are a bin's from now on */
	__asm__("" : "+r"(freed));
	free(large);
	top = (uint64_t *)(uintptr_t)freed[0];
}

static void child(void)
{
	/* Who kills the one that started it is not left with it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(2);
	raise(SIGSTOP);
	last = malloc(BYTES);
	_exit(0);
}

/* Leaves it stopped for anybody. */
static bool bring_there(pid_t pid)
{
	int status;
	uint64_t before = *top;
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return false;
	while ((uint64_t)ptrace(PTRACE_PEEKDATA, pid, top, NULL) == before) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0 ||
			waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return false;
	}
	return ptrace(PTRACE_DETACH, pid, NULL, SIGSTOP) == 0;
}

int main(void)
{
	char byte;
	prepare();
	pid_t pid = fork();
	if (!pid)
		child();
	bool is_there = pid > 0 && bring_there(pid);
	if (is_there) {
		printf("%d\n", (int)pid);
		fflush(stdout);
		is_there = read(0, &byte, 1) == 0;
	}
	if (pid > 0)
		kill(pid, SIGKILL);
	return is_there ? 0 : 2;
}
