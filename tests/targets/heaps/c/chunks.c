/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bump allocators whose chunks begin with a structure that says nothing of what is behind it: of
 * several sizes, with records of one kind and of several, with texts alone, with both, and with
 * what is declared nowhere; chunks
 * that are as large as so many headers, and others. They are no arrays of their headers. What is
 * one, filled or not, is.
 */
#include <stdbool.h>
#include <stddef.h>

#include "account.h"

ACCOUNT_DEFINE;

struct two {
	struct two *prev;
	size_t used;
};
struct three {
	struct three *prev;
	size_t cap, used;
};
struct ends {
	struct ends *prev;
	char *cur, *end;
};
struct four {
	struct four *prev;
	size_t cap, used;
	long number;
};
struct six {
	struct six *prev, *next;
	size_t cap, used;
	int kind;
	bool is_full;
	void *owner;
};

struct rec {
	struct rec *next;
	char *name;
	long number;
};
struct leaf {
	double value;
	struct leaf *left, *right;
	const char *label;
	unsigned flags;
};
struct span {
	struct span *next;
	unsigned from, to;
};
/* Very many of these lead to the header of a chunk, and the last one alone to what is behind it. */
struct owned {
	struct owned *next;
	struct six *owner;
	struct rec *records;
};

/* What is asked of all of them. */
struct arena {
	char *at, *end;
};
enum filling { RECORDS, SEVERAL, TEXTS, BOTH, HIDDEN, FILLINGS };
static const char *const pools[FILLINGS] = {
	"pool of rec", "pool of several structures", "texts", "pool of rec", "hidden"};

static struct rec *recs[100];
static struct leaf *leaves[100];
static struct span *spans[100];
static const char *words[64 * 100];
/* Nothing is declared of what it leads to. */
static void *hidden[100];
static unsigned set, word_count;

static void *take(struct arena *arena, size_t size)
{
	size = (size + 7) & ~7ul;
	if ((size_t)(arena->end - arena->at) < size)
		return NULL;
	void *memory = arena->at;
	arena->at += size;
	return memory;
}

static char *take_text(struct arena *arena, unsigned number)
{
	char *text = take(arena, 20 + number % 30);
	if (text)
		snprintf(text, 20 + number % 30, "word number %u of them all", number);
	return text;
}

static bool add_rec(struct arena *arena, bool has_text, unsigned number)
{
	struct rec *rec = take(arena, sizeof(*rec));
	if (!rec)
		return false;
	*rec = (struct rec){recs[set], NULL, number};
	recs[set] = rec;
	if (has_text)
		rec->name = take_text(arena, number);
	return true;
}

static bool add_leaf(struct arena *arena)
{
	struct leaf *leaf = take(arena, sizeof(*leaf));
	if (!leaf)
		return false;
	*leaf = (struct leaf){1.5, leaves[set], leaves[set], "leaf", 7};
	leaves[set] = leaf;
	return true;
}

static bool add_span(struct arena *arena, unsigned number)
{
	struct span *span = take(arena, sizeof(*span));
	if (!span)
		return false;
	*span = (struct span){spans[set], number, number + 4};
	spans[set] = span;
	return true;
}

static bool add_text(struct arena *arena, unsigned number)
{
	char *text = take_text(arena, number);
	if (text)
		words[word_count++ % 64 + 64 * set] = text;
	return text;
}

/* At first as headers have it: a pointer, then numbers; then records whose last word is a pointer.
 */
static bool add_hidden(struct arena *arena, size_t header, unsigned number)
{
	size_t count = number * header < 600 ? header / 8 : 5;
	void **one = take(arena, 8 * count);
	for (size_t i = 1; one && i < count; i++)
		one[i] = (void *)(number + i);
	if (one)
		one[count == header / 8 ? 0 : count - 1] = hidden[set];
	hidden[set] = one ? one : hidden[set];
	return one;
}

/* The last one is filled to a part. */
static void fill(struct arena *arena, size_t header, enum filling filling, bool is_last)
{
	unsigned number = 0;
	if (is_last && filling != HIDDEN)
		arena->end -= (arena->end - arena->at) / 2;
	for (bool ok = true; ok; number++) {
		if (filling == RECORDS || filling == BOTH)
			ok = add_rec(arena, filling == BOTH, number);
		else if (filling == SEVERAL)
			ok = add_rec(arena, false, number) && add_leaf(arena) &&
			     add_span(arena, number);
		else if (filling == HIDDEN)
			ok = add_hidden(arena, header, number);
		else
			ok = add_text(arena, number);
	}
}

static void *block(size_t size, const char *header, enum filling filling)
{
	char kind[40];
	void *memory = calloc(1, size);
	snprintf(kind, sizeof(kind), "%s %s", header, pools[filling]);
	account(memory, size, 'r', kind);
	return memory;
}

#define CHUNKS_OF(type)                                                                            \
	static struct type *type##_chunks[2][FILLINGS];                                            \
	static void add_##type(size_t size, enum filling filling)                                  \
	{                                                                                          \
		struct type **list = &type##_chunks[size % sizeof(struct type) == 0][filling];     \
		for (unsigned i = 0; i < 3; i++) {                                                 \
			struct type *chunk = block(size, #type, filling);                          \
			struct arena arena = {(char *)(chunk + 1), (char *)chunk + size};          \
			chunk->prev = *list;                                                       \
			*list = chunk;                                                             \
			fill(&arena, sizeof(struct type), filling, i == 2);                        \
			END(chunk, arena, size);                                                   \
		}                                                                                  \
		set++;                                                                             \
	}
#define END(chunk, arena, size) (chunk)->used = (size_t)((arena).at - (char *)(chunk))
CHUNKS_OF(two)
CHUNKS_OF(three)
CHUNKS_OF(four)
CHUNKS_OF(six)
#undef END
#define END(chunk, arena, size) (chunk)->cur = (arena).at, (chunk)->end = (char *)(chunk) + (size)
CHUNKS_OF(ends)

/* Arrays: full ones, and one that only begins to be filled. */
static struct three *full_three, *begun_three;
static struct rec *full_recs, *linked_recs;
/* Leads to what was there before. */
static struct span *stale;
static struct owned *owned;

static void *array(size_t size, const char *type)
{
	void *memory = calloc(1, size);
	account(memory, size, 'r', type);
	return memory;
}

static void add_arrays(void)
{
	full_three = array(50 * sizeof(*full_three), "three[]");
	for (unsigned i = 0; i < 50; i++)
		full_three[i] = (struct three){i ? &full_three[i - 1] : NULL, i, i + 1};
	begun_three = array(64 * sizeof(*begun_three), "three[]");
	for (unsigned i = 0; i < 5; i++)
		begun_three[i] = (struct three){i ? &full_three[i - 1] : NULL, i, i + 1};
	full_recs = array(30 * sizeof(*full_recs), "rec[]");
	for (unsigned i = 0; i < 30; i++)
		full_recs[i] = (struct rec){i ? &full_recs[i - 1] : NULL, NULL, i};
	linked_recs = array(200 * sizeof(*linked_recs), "rec[]");
	for (unsigned i = 0; i < 200; i++)
		linked_recs[i] = (struct rec){&linked_recs[(i + 7) % 200], NULL, i + 1};
	stale = (struct span *)&linked_recs[100].name;
}

static void add_owned(struct six *owner, struct rec *records)
{
	for (unsigned i = 0; i < 5000; i++) {
		struct owned *one = calloc(1, sizeof(*one));
		account(one, sizeof(*one), 'r', "owned");
		*one = (struct owned){owned, owner, i ? NULL : records};
		owned = one;
	}
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	unsigned owned_set = 0;
	for (enum filling filling = 0; filling < FILLINGS; filling++) {
		add_two(2000, filling);
		add_two(1032, filling);
		add_three(4080, filling);
		add_three(4096, filling);
		add_four(32 * 40, filling);
		add_four(1000, filling);
		if (filling == RECORDS)
			owned_set = set;
		add_six(48 * 80, filling);
		add_six(4000, filling);
		add_ends(4080, filling);
		add_ends(4096, filling);
	}
	add_arrays();
	add_owned(six_chunks[1][RECORDS], recs[owned_set]);
	recs[owned_set] = NULL;
	account_end();
	return !full_recs || !linked_recs || !stale || !owned || !full_three || !begun_three ||
	       !recs[0] || !leaves[0] || !spans[0] || !words[0] || !hidden[99];
}
