/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that a program gives out piece by piece, by an obstack and by hand: of char and of void,
 * with structures of one kind, of two, of several, texts between them. What lies in them leads on
 * to other blocks. "?" is what only looks like a pool: structures with links in them, of which
 * nothing else is known, an array of such, one with ten of them, a block with old words in it.
 */
#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>

#include "account.h"

#define obstack_chunk_alloc new_chunk
#define obstack_chunk_free free

ACCOUNT_DEFINE;

struct rec {
	struct rec *next;
	char *name;
	long number;
	struct owner *owner;
	bool is_open;
};

struct owner {
	struct rec *first;
	long weights[5];
	int *numbers;
};

struct shape {
	struct shape *next;
	double sizes[4];
	struct rec *rec;
};

struct tag {
	struct tag *left, *right;
	unsigned key;
};

/* Links that stand in other structures. */
struct link {
	struct link *next, *previous;
};
struct task {
	long id;
	struct link link;
	long state[4];
};
struct table {
	long size;
	struct link buckets[32];
	long mask;
};

/* What begins a block says what it is; behind it lie others. */
struct chunk {
	struct chunk *next;
	size_t used;
	char bytes[];
};

/* Of rec, in C's way. */
struct long_rec {
	struct rec rec;
	long more[6];
};

static struct rec *recs, *few, *beginnings, *mixed_recs, *chunk_recs, *held_recs;
static struct shape *shapes;
static struct tag *tags;
static struct link links = {&links, &links}, buckets = {&buckets, &buckets};
static struct chunk *chunks;
static void *anything[64];
static unsigned anything_count;
static char *arena;

static void *block(size_t size, const char *type)
{
	void *memory = calloc(1, size);
	account(memory, size, 'r', type);
	return memory;
}

/* Held, and nothing is declared of it. */
static void *hidden(size_t size, const char *type)
{
	void *memory = block(size, type);
	anything[anything_count++] = memory;
	return memory;
}

/* What their names are called: those in a pool lead to them. */
static const char *names = "char[]";

static void add_rec(struct rec *rec, struct rec **list, unsigned number)
{
	rec->next = *list;
	rec->number = number;
	rec->is_open = number % 2;
	rec->name = block(20 + number % 50, names);
	snprintf(rec->name, 20, "record %u", number);
	if (number % 7 == 0) {
		rec->owner = block(sizeof(*rec->owner), "owner");
		rec->owner->first = rec;
		rec->owner->numbers = block(100 * sizeof(int), "int[]");
	}
	*list = rec;
}

/* Chains go from block to block. */
static void add_pools(void)
{
	for (unsigned i = 0; i < 20; i++) {
		char *memory = hidden(4000, "pool of rec");
		for (unsigned k = 0; k < 70; k++)
			add_rec((struct rec *)(memory + 16 + k * sizeof(struct rec)), &recs,
				100 * i + k);
	}
}

/* It is declared to be characters. */
static void add_arena(void)
{
	arena = block(10000, "pool of tag");
	memset(arena, 'x', 100);
	for (unsigned i = 0; i < 150; i++) {
		struct tag *tag = (struct tag *)(arena + 200 + 24 * i);
		*tag = (struct tag){.left = i % 2 ? tags : NULL, .right = tags, .key = i};
		tags = tag;
	}
}

static void add_mixed(void)
{
	char *memory = hidden(9000, "pool of rec and shape");
	size_t at = 0;
	for (unsigned i = 0; i < 40; i++) {
		at += (size_t)snprintf(memory + at, 40, "text number %u", i) + 1;
		at = (at + 7) & ~7ul;
		add_rec((struct rec *)(memory + at), &mixed_recs, i);
		at += sizeof(struct rec);
		struct shape *shape = (struct shape *)(memory + at);
		*shape = (struct shape){.next = shapes, .sizes = {1.5, 2.5}, .rec = mixed_recs};
		shapes = shape;
		at += sizeof(struct shape);
	}
}

static struct obstack stack;
static struct rec *stacked[1000];

static void *new_chunk(long size)
{
	return block((size_t)size, "stack of rec");
}

/* Its chunks are what the library declares; the records in them lead on. */
static void add_obstack(void)
{
	obstack_begin(&stack, 4064);
	for (unsigned i = 0; i < 300; i++) {
		stacked[i] = obstack_alloc(&stack, sizeof(struct rec));
		memset(stacked[i], 0, sizeof(struct rec));
		add_rec(stacked[i], &held_recs, 5000 + i);
	}
}

static void add_chunks(void)
{
	for (unsigned i = 0; i < 5; i++) {
		struct chunk *chunk = block(3000, "chunk");
		chunk->next = chunks;
		chunks = chunk;
		for (unsigned k = 0; k < 30; k++, chunk->used += sizeof(struct rec) + 16)
			add_rec((struct rec *)(chunk->bytes + chunk->used), &chunk_recs, k);
	}
}

static void insert(struct link *list, struct link *link)
{
	link->next = list->next;
	link->previous = list;
	list->next->previous = link;
	list->next = link;
}

static void add_links(void)
{
	for (unsigned i = 0; i < 50; i++) {
		struct task *task = hidden(sizeof(*task), "?");
		anything_count -= i > 0;
		task->id = i;
		insert(&links, &task->link);
	}
	struct task *tasks = hidden(60 * sizeof(*tasks), "?");
	for (unsigned i = 0; i < 60; i++) {
		tasks[i].id = i;
		insert(&links, &tasks[i].link);
	}
	struct table *table = hidden(sizeof(*table), "?");
	for (unsigned i = 0; i < 32; i++)
		insert(&buckets, &table->buckets[i]);
}

/* Too few, and such that begin something larger. */
static void add_doubtful(void)
{
	char *memory = hidden(2000, "?");
	names = "?";
	for (unsigned i = 0; i < 3; i++)
		add_rec((struct rec *)(memory + 160 * i + 80), &few, i + 1);
	struct long_rec *longs = hidden(30 * sizeof(*longs) + 100, "?");
	for (unsigned i = 0; i < 30; i++) {
		struct rec *rec = &longs[i].rec;
		rec->next = beginnings;
		rec->number = i;
		beginnings = rec;
	}
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	add_pools();
	add_arena();
	add_mixed();
	add_obstack();
	add_chunks();
	add_links();
	add_doubtful();
	account_end();
	return !recs || !shapes || !tags || !few || !beginnings || !held_recs || !chunk_recs;
}
