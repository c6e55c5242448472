/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/scan/repeats.h"

#include <stdlib.h>

#include "base/cleanup.h"

/* This many elements are no accident, as the members of one structure may be. */
#define ELEMENTS_MIN 8u
/* A table of pointers and NULL. */
#define TABLE_WORDS 16u
/* This many different patterns of one size are compared with what was found among them. */
#define FOUND_MAX 64u

struct family {
	const struct heap_shapes *classes;
	struct heap_repeat *repeats;
	struct heap_repeat found[FOUND_MAX]; /* of the size at hand */
	size_t count;
};

static unsigned words_of(const struct heap_shape *class)
{
	return class->key.size / 8 < SHAPE_WORDS ? (unsigned)(class->key.size / 8) : SHAPE_WORDS;
}

/* Where in elements of this many words there are pointers. */
static uint64_t repeats_fold(uint64_t pointers, unsigned words)
{
	uint64_t folded = 0, element = (1ull << words) - 1; /* words < 64 / ELEMENTS_MIN */
	for (; pointers; pointers >>= words)
		folded |= pointers & element;
	return folded;
}

static bool is_table(const struct heap_shape *class)
{
	unsigned seen = words_of(class);
	uint64_t all = seen < 64 ? (1ull << seen) - 1 : UINT64_MAX;
	return seen >= TABLE_WORDS &&
	       (unsigned)__builtin_popcountll(class->key.pointers) >= ELEMENTS_MIN &&
	       !(all & ~(class->key.pointers | class->nulls));
}

/*
 * The smallest element whose repetition explains a pattern: some word of it never is a pointer, and
 * those that are ones are it more often than not.
 */
static struct heap_repeat element_of(const struct heap_shape *class)
{
	unsigned seen = words_of(class);
	unsigned pointers = (unsigned)__builtin_popcountll(class->key.pointers);
	if (is_table(class))
		return (struct heap_repeat){1, 1};
	for (unsigned words = 2; words <= seen / ELEMENTS_MIN; words++) {
		uint64_t folded = repeats_fold(class->key.pointers, words);
		unsigned columns = (unsigned)__builtin_popcountll(folded);
		if (columns < words && pointers >= ELEMENTS_MIN &&
			2 * pointers > columns * (seen / words))
			return (struct heap_repeat){folded, words};
	}
	return (struct heap_repeat){0, 0};
}

/* Whether a class is of these elements, with enough of them to say so. */
static bool repeats_fits(const struct heap_shape *class, const struct heap_repeat *element)
{
	if (element->words == 1)
		return is_table(class);
	return (unsigned)__builtin_popcountll(class->key.pointers) >= ELEMENTS_MIN &&
	       !(repeats_fold(class->key.pointers, element->words) & ~element->pointers);
}

static void repeats_take(struct family *f, const struct heap_shape *class)
{
	struct heap_repeat *ret = &f->repeats[class - f->classes->classes.data];
	for (size_t i = 0; i < f->count && !ret->words; i++) {
		if (repeats_fits(class, &f->found[i]))
			*ret = f->found[i];
	}
	if (ret->words)
		return;
	*ret = element_of(class);
	if (ret->words && f->count < FOUND_MAX)
		f->found[f->count++] = *ret;
}

/* By size; those with the most pointers first, which show elements best. */
static int by_size(const void *a, const void *b)
{
	const struct heap_shape *x = *(const struct heap_shape *const *)a;
	const struct heap_shape *y = *(const struct heap_shape *const *)b;
	int more = __builtin_popcountll(x->key.pointers),
	    less = __builtin_popcountll(y->key.pointers);
	if (x->key.size != y->key.size)
		return x->key.size < y->key.size ? -1 : 1;
	if (more != less)
		return more > less ? -1 : 1;
	return (x->key.pointers > y->key.pointers) - (x->key.pointers < y->key.pointers);
}

struct error *heap_repeats_find(
	const struct heap_shapes *classes, const bool *left, struct heap_repeat **ret)
{
	size_t count = classes->classes.len, len = 0;
	struct family family = {.classes = classes};
	_cleanup_free_ const struct heap_shape **sorted = calloc(count + 1, sizeof(*sorted));
	*ret = family.repeats = calloc(count + 1, sizeof(**ret));
	if (!sorted || !*ret)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct heap_shape *class = &classes->classes.data[i];
		if (left[i] && class->group == i && class->key.pointers)
			sorted[len++] = class;
	}
	qsort(sorted, len, sizeof(*sorted), by_size);
	for (size_t i = 0; i < len; i++) {
		if (i && sorted[i]->key.size != sorted[i - 1]->key.size)
			family.count = 0;
		repeats_take(&family, sorted[i]);
	}
	for (size_t i = 0; i < count; i++)
		family.repeats[i] = family.repeats[classes->classes.data[i].group];
	return NULL;
}
