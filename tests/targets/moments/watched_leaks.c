/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that are referenced in each way, and blocks that are lost: says "ready PID"; with a line
 * on stdin allocates, says "# leaked: FUNCTION BYTES BLOCKS" and "# referenced: …", and "done". A
 * thread goes on replacing a block that a variable holds. Ends with the next line.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noclone)) static
#define MANY 50

struct node {
	struct node *next;
	char rest[40];
};

static void *volatile held[MANY];
static struct node *volatile chain;
static char *volatile middle;
static void *volatile replaced;
static volatile int is_over;

static void *need(void *block)
{
	if (!block)
		abort();
	return block;
}

SITE void site_global(unsigned number)
{
	held[number] = need(malloc(301));
}

SITE void site_chain(void)
{
	struct node *node = need(malloc(sizeof(*node)));
	node->next = chain;
	chain = node;
}

SITE void *site_stack(void)
{
	return need(malloc(302));
}

SITE void site_interior(void)
{
	middle = (char *)need(malloc(303)) + 100;
}

SITE void site_lost(void)
{
	memset(need(malloc(304)), 1, 304);
}

SITE struct node *site_lost_ring(void)
{
	return need(calloc(1, sizeof(struct node)));
}

SITE void site_replaced(void)
{
	void *old = replaced;
	replaced = need(malloc(305));
	free(old);
}

SITE void ring_lose(void)
{
	struct node *first = site_lost_ring(), *second = site_lost_ring();
	first->next = second;
	second->next = first;
}

/* What calls have left on the stack is gone. */
SITE void stack_wipe(void)
{
	volatile char room[1 << 16];
	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

static void *replace_on(void *unused)
{
	(void)unused;
	while (!is_over)
		site_replaced();
	return NULL;
}

SITE void blocks_make(void)
{
	for (unsigned i = 0; i < MANY; i++) {
		site_global(i);
		site_chain();
		site_lost();
		ring_lose();
	}
	site_interior();
	stack_wipe();
}

int main(void)
{
	char line[64];
	pthread_t thread;
	setvbuf(stdin, NULL, _IONBF, 0);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	blocks_make();
	void *volatile own = site_stack();
	if (pthread_create(&thread, NULL, replace_on, NULL))
		return 1;
	printf("# referenced: site_global %d %d\n", MANY * 301, MANY);
	printf("# referenced: site_chain %zu %d\n", MANY * sizeof(struct node), MANY);
	printf("# referenced: site_stack %d %d\n", 302, 1);
	printf("# referenced: site_interior %d %d\n", 303, 1);
	printf("# leaked: site_lost %d %d\n", MANY * 304, MANY);
	printf("# leaked: site_lost_ring %zu %d\n", 2 * MANY * sizeof(struct node), 2 * MANY);
	printf("done\n");
	fflush(stdout);
	int status = fgets(line, sizeof(line), stdin) && own ? 0 : 1;
	is_over = 1;
	pthread_join(thread, NULL);
	return status;
}
