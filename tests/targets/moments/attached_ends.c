/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that allocates in threads and ends, in the way that its argument names, so many
 * microseconds after it was told to. As another program (exec) it answers that it is there.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define EXIT_CODE 7
#define BLOCKS 16

static char **arguments;

static void *hammer(void *unused)
{
	void *blocks[BLOCKS] = {NULL};
	for (unsigned i = 0;; i++) {
		free(blocks[i % BLOCKS]);
		blocks[i % BLOCKS] = malloc(100 + i % 64);
		if (i % 64 == 0)
			blocks[i % BLOCKS] = realloc(blocks[i % BLOCKS], 3000);
	}
	return unused;
}

static void become_other(void)
{
	static char again[] = "again";
	char *const others[] = {arguments[0], again, NULL};
	execv("/proc/self/exe", others);
	abort();
}

static void *exec_in_thread(void *unused)
{
	become_other();
	return unused;
}

/* Threads may not be joined or ended while they run on: who ends first ends all. */
static void end(const char *how)
{
	pthread_t thread;
	if (!strcmp(how, "exit"))
		exit(EXIT_CODE);
	else if (!strcmp(how, "quick"))
		_exit(EXIT_CODE);
	else if (!strcmp(how, "exec"))
		become_other();
	else if (!strcmp(how, "thread"))
		pthread_exit(NULL);
	else if (strcmp(how, "thread-exec") != 0)
		abort();
	else if (pthread_create(&thread, NULL, exec_in_thread, NULL))
		abort();
	for (;;)
		pause();
}

static void wait_us(long us)
{
	const struct timespec time = {us / 1000000, us % 1000000 * 1000};
	nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
	char line[64], word[24];
	long number;
	bool again = argc < 2 || !strcmp(argv[1], "again");
	arguments = argv;
	for (int i = 0; i < THREADS && !again; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, hammer, NULL))
			abort();
	}
	printf("%s %d\n", again ? "again" : "ready", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && sscanf(line, "%23s %ld", word, &number) == 2) {
		if (!again) {
			wait_us(number);
			end(argv[1]);
		}
		void *volatile block = malloc(50);
		free(block);
		printf("%s %ld\n", word, number);
		fflush(stdout);
	}
	return 0;
}
