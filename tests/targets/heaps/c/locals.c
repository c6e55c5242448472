/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that variables on stacks hold; their types in the account are "function: variable". */
#include <pthread.h>

#include "account.h"

ACCOUNT_DEFINE;

struct pair {
	void *first, *second;
};

static pthread_barrier_t all_there;

static void *block(size_t size, const char *place)
{
	void *memory = calloc(1, size);
	account(memory, size, 'r', place);
	return memory;
}

static __attribute__((noinline)) void leave_to_others(struct pair *pair, void **table, int is_main)
{
	(void)pair, (void)table;
	pthread_barrier_wait(&all_there);
	if (is_main)
		account_end();
	for (;;)
		pause();
}

static __attribute__((noinline)) void middle(struct pair given, int is_main)
{
	void *table[4] = {NULL, NULL, block(300, "middle: table + 16"), NULL};
	for (int i = 0; i < 1; i++) {
		void *volatile inner = block(400, "middle: inner");
		leave_to_others(&given, table, is_main);
		free(inner);
	}
}

static void *work(void *unused)
{
	void *volatile kept = block(500, "work: kept");
	struct pair pair = {block(600, "middle: given"), block(700, "middle: given + 8")};
	(void)unused;
	middle(pair, 0);
	return kept;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	pthread_barrier_init(&all_there, NULL, 2);
	pthread_create(&thread, NULL, work, NULL);
	struct pair mine = {block(800, "main: mine"), block(900, "main: mine + 8")};
	middle(mine, 1);
	return mine.first == NULL;
}
