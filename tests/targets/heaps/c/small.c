/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread: a list with names, a table, lost chains, freed blocks of many sizes, large and
 * aligned ones; half of what is freed lies in tcache and fast bins. */
#include <malloc.h>

#include "account.h"

ACCOUNT_DEFINE;

struct node {
	struct node *next;
	char *name;
	long number;
};

static struct node *list;
/* Nothing else is that. */
static volatile long below = -4711;
static void **table;
static void *aligned[4], *large, *interior;

static void *block(size_t size, char leak, const char *type)
{
	void *memory = malloc(size);
	memset(memory, 0, size);
	account(memory, size, leak, type);
	return memory;
}

static void add_nodes(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct node *node = block(sizeof(*node), 'r', "node");
		node->name = block(8 + i % 40, 'r', "name");
		snprintf(node->name, 8, "n%06u", i);
		node->number = i;
		node->next = list;
		list = node;
	}
}

/* Chains of two that nothing holds. */
static __attribute__((noinline)) void lose(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		void **first = block(48, 'd', "lost");
		*first = block(56, 'i', "held by lost");
	}
}

static __attribute__((noinline)) void free_some(unsigned count)
{
	void **blocks = calloc(count, sizeof(*blocks));
	unsigned *rows = calloc(count, sizeof(*rows));
	for (unsigned i = 0; i < count; i++) {
		size_t size = 16 + i * 7 % 1200;
		blocks[i] = malloc(size);
		rows[i] = account(blocks[i], size, '-', "freed");
		memset(blocks[i], 0xff, size);
	}
	for (unsigned i = 0; i < count; i++) {
		if (i % 3 == 2)
			continue;
		free(blocks[i]);
		account_freed(rows[i]);
	}
	/* The others stay, and nobody holds them. */
	for (unsigned i = 0; i < count; i++)
		account_file.rows[rows[i]].leak = i % 3 == 2 ? 'd' : '-';
	memset(blocks, 0, count * sizeof(*blocks));
	free(blocks);
	free(rows);
}

static __attribute__((noinline)) void hold_interior(void)
{
	interior = (char *)block(300, 'p', "interior") + 16;
}

/* What function calls have left of pointers on the stack. */
static __attribute__((noinline)) void forget(void)
{
	volatile char stack[32 << 10];
	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	add_nodes(3000);
	lose(1000);
	free_some(1500);
	table = block(4096 * sizeof(*table), 'r', "table");
	for (unsigned i = 0; i < 4096; i += 4)
		table[i] = block(24, 'r', "entry");
	for (unsigned i = 0; i < 4; i++) {
		size_t alignment = (size_t)64 << (3 * i);
		if (posix_memalign(&aligned[i], alignment, 1u << 20))
			abort();
		memset(aligned[i], 0, 1u << 20);
		account(aligned[i], 1u << 20, 'r', "aligned");
	}
	large = block(700000, 'r', "large");
	hold_interior();
	forget();
	account_end();
	return !list || !table || !large || !interior;
}
