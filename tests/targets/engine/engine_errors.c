/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors that memcheck finds, each in a function of its own and harmless by itself: engine_errors
 * NAME… makes those that are named, in that order. `loop` makes one of them again and again;
 * `killed` dies by a signal, `status` ends with status 7, `child` starts this program again for
 * `read4`, `wait` waits until standard input ends. At the end it writes "done" and what it counted.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAR __attribute__((noinline, noclone))

static volatile uint64_t sum;
static const char *self;

FAR static void read1(void)
{
	volatile uint8_t *block = malloc(11);
	sum += block[11];
	free((void *)block);
}

FAR static void read4(void)
{
	volatile uint32_t *block = malloc(12);
	sum += block[3];
	free((void *)block);
}

FAR static void read8(void)
{
	volatile uint64_t *block = malloc(24);
	free((void *)block);
	sum += block[1];
}

FAR static void write2(void)
{
	volatile uint16_t *block = malloc(6);
	block[3] = 1;
	free((void *)block);
}

FAR static void write4(void)
{
	volatile uint32_t *block = malloc(16);
	block[4] = 1;
	free((void *)block);
}

FAR static void cond(void)
{
	volatile int *block = malloc(sizeof(int));
	if (*block == 4711)
		sum++;
	free((void *)block);
}

FAR static void value8(void)
{
	static int table[256];
	volatile uint64_t *block = malloc(8);
	sum += (uint64_t)table[*block & 255];
	free((void *)block);
}

FAR static void param(void)
{
	int fd = open("/dev/null", O_WRONLY);
	char *block = malloc(13);
	sum += (uint64_t)write(fd, block, 13);
	free(block);
	close(fd);
}

FAR static void free_twice(void)
{
	char *volatile block = malloc(5);
	free(block);
	free(block);
}

FAR static void free_inside(void)
{
	char *volatile block = malloc(40);
	free(block + 8);
	free(block);
}

FAR static void overlap(void)
{
	char *volatile block = calloc(1, 64);
	memset(block, 'a', 20);
	strcpy(block, block + 2);
	free(block);
}

FAR static void fishy(void)
{
	volatile size_t bytes = (size_t)-3;
	free(malloc(bytes));
}

/* In a function of libc. */
FAR static void length(void)
{
	char *volatile block = malloc(7);
	memset(block, 'a', 7);
	sum += strlen(block);
	free(block);
}

FAR static void twins(void)
{
	volatile uint32_t *block = malloc(12);
	sum += block[3];
	sum += block[3];
	free((void *)block);
}

FAR static void loop(void)
{
	for (int i = 0; i < 5; i++)
		read4();
}

FAR static void leak(void)
{
	char *volatile block = malloc(77);
	block = NULL;
	(void)block;
}

FAR static void child(void)
{
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		execl(self, self, "read4", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

FAR static void wait_for_input(void)
{
	char byte;
	while (read(0, &byte, 1) > 0)
		;
}

static void killed(void)
{
	raise(SIGKILL);
}

static void aborted(void)
{
	raise(SIGTERM);
}

static void status(void)
{
	exit(7);
}

static const struct {
	const char *name;
	void (*make)(void);
} errors[] = {
	{"read1", read1},
	{"read4", read4},
	{"read8", read8},
	{"write2", write2},
	{"write4", write4},
	{"cond", cond},
	{"value8", value8},
	{"param", param},
	{"free_twice", free_twice},
	{"free_inside", free_inside},
	{"overlap", overlap},
	{"fishy", fishy},
	{"length", length},
	{"twins", twins},
	{"loop", loop},
	{"leak", leak},
	{"child", child},
	{"wait", wait_for_input},
	{"killed", killed},
	{"aborted", aborted},
	{"status", status},
};

int main(int argc, char **argv)
{
	self = argv[0];
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof(errors) / sizeof(*errors); k++)
			if (!strcmp(errors[k].name, argv[i]))
				errors[k].make();
	puts("done");
	return 0;
}
