/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that only variables on stacks lead to. In the account is what they must be called, "?"
 * where nothing may be said; each kind has a size of its own, so that none is named because it
 * looks like others.
 */
#include <pthread.h>

#include "account.h"

ACCOUNT_DEFINE;

struct leaf {
	long numbers[3];
};
struct node {
	struct node *next;
	struct leaf *leaf;
	long numbers[6];
};
struct entry {
	struct leaf *leaf;
	long numbers[11];
};
struct holder {
	long count;
	struct entry *entries[2];
	char *text;
};
struct worker {
	struct node *nodes;
	long numbers[15];
};
/* Only variables that have no value yet, or none any more, are declared to point to such. */
struct never {
	struct leaf *leaf;
	long numbers[19];
};

static pthread_barrier_t all_there;

static void *block(size_t size, const char *name)
{
	void *memory = calloc(1, size);
	account(memory, size, 'r', name);
	return memory;
}

static struct leaf *leaf(void)
{
	return block(sizeof(struct leaf), "leaf");
}

static struct node *list(void)
{
	struct node *head = NULL;
	for (int i = 0; i < 3; i++) {
		struct node *node = block(sizeof(*node), "node");
		node->leaf = leaf();
		node->next = head;
		head = node;
	}
	return head;
}

static struct entry *entry(void)
{
	struct entry *entry = block(sizeof(*entry), "entry");
	entry->leaf = leaf();
	return entry;
}

static __attribute__((noinline)) void wait_for_all(int is_main)
{
	pthread_barrier_wait(&all_there);
	if (is_main)
		account_end();
	for (;;)
		pause();
}

/* What others hold in a place is passed on to where a variable will be. */
static __attribute__((noinline)) void leave_behind(void *pointer)
{
	void *volatile words[64];
	for (int i = 0; i < 64; i++)
		words[i] = pointer;
	__asm__ volatile("" : : "r"(words) : "memory");
}

static __attribute__((noinline)) void inner(struct worker *given, int is_main)
{
	struct worker *volatile worker = given;
	if (worker) {
		wait_for_all(is_main);
		struct never *volatile behind = NULL;
		worker->nodes = (void *)behind;
	}
	struct never *volatile elsewhere = NULL;
	worker->nodes = (void *)elsewhere;
}

static __attribute__((noinline)) void run(int is_main)
{
	struct holder holder = {2, {entry(), entry()}, block(200, "?")};
	struct node *volatile head = list();
	struct worker *worker = block(sizeof(*worker), "worker");
	worker->nodes = list();
	leave_behind(block(sizeof(struct never), "?"));
	__asm__ volatile("" : : "r"(&holder), "r"(&head) : "memory");
	inner(worker, is_main);
	holder.count = (long)head;
	__asm__ volatile("" : : "r"(&holder) : "memory");
}

static void *begin(void *unused)
{
	run(0);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	pthread_barrier_init(&all_there, NULL, 2);
	pthread_create(&thread, NULL, begin, NULL);
	run(1);
	return 0;
}
