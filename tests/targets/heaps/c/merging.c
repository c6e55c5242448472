/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that stands still in the midst of malloc_consolidate(), so many instructions after that
 * has emptied a fast bin of 300 blocks (negative: before it began).
 *
 *     heap_merging INSTRUCTIONS
 *
 * Prints the process's number, and ends it at the end of the input.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT 7u /* a thread's own cache takes so many */
#define BLOCKS 300u
#define BYTES 72u
#define BYTES_LARGE 5000u
/* struct malloc_state: from the first fast bin to `top`, to which a free large block points. */
#define FASTBINS_BYTES 0x50u
#define CHUNK_BYTES (BYTES + 8u)

static uint64_t *slot; /* of the fast bin */
static void *blocks[2 * (KEPT + BLOCKS)];
static void *volatile last;

static void prepare(void)
{
	uint64_t *large = malloc(BYTES_LARGE);
	last = malloc(BYTES);
	for (size_t i = 0; i < 2 * (KEPT + BLOCKS); i++)
		blocks[i] = malloc(BYTES);
	uint64_t *freed = large; /* its words are a bin's from now on */
	__asm__("" : "+r"(freed));
	free(large);
	slot = (uint64_t *)(uintptr_t)(freed[0] - FASTBINS_BYTES) + CHUNK_BYTES / 16 - 2;
	/* Every second one, but for some that follow each other. */
	for (size_t i = 0; i < KEPT + BLOCKS; i++)
		free(blocks[i < KEPT + BLOCKS / 2 ? i : 2 * i - KEPT - BLOCKS / 2]);
}

static void child(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(2);
	raise(SIGSTOP);
	last = malloc(2 * BYTES_LARGE);
	_exit(0);
}

static bool step(pid_t pid)
{
	int status;
	return ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status);
}

/* Leaves it stopped for anybody. */
static bool bring_there(pid_t pid, long instructions)
{
	int status;
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return false;
	while (instructions >= 0 && ptrace(PTRACE_PEEKDATA, pid, slot, NULL)) {
		if (!step(pid))
			return false;
	}
	for (long i = 0; i < instructions; i++) {
		if (!step(pid))
			return false;
	}
	return ptrace(PTRACE_DETACH, pid, NULL, SIGSTOP) == 0;
}

int main(int argc, char **argv)
{
	char byte;
	prepare();
	pid_t pid = fork();
	if (!pid)
		child();
	bool is_there = pid > 0 && bring_there(pid, argc > 1 ? strtol(argv[1], NULL, 10) : -1);
	if (is_there) {
		printf("%d\n", (int)pid);
		fflush(stdout);
		is_there = read(0, &byte, 1) == 0;
	}
	if (pid > 0)
		kill(pid, SIGKILL);
	return is_there ? 0 : 2;
}
