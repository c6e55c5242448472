/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounds that can make an answer about a heap partial, and what is said then. All bounds of the
 * rooms heap, search, symbols and analysis are in docs/limits.md, which a lint compares with the
 * source.
 */
#ifndef HEAP_LIMITS_H
#define HEAP_LIMITS_H

#include <stdbool.h>

struct survey;

/* Members of one type, those of its members included, an array counting once. No program has as
 * many; damaged debug information may. */
#define LIMIT_TYPE_STEPS 100000u
/* Frames of one thread's stack. */
#define LIMIT_STACK_FRAMES (1u << 16)
/* Frames of all threads whose variables tell types. */
#define LIMIT_TYPED_FRAMES (1u << 20)

/* What was reached. */
enum survey_limit {
	REACHED_TYPE_STEPS,
	REACHED_STACK_FRAMES,
	REACHED_TYPED_FRAMES,
	REACHED_SHAPES,
	REACHED_ARRAY_PLACES,
	REACHED_POOL_TRIES,
	REACHED_TYPE_ENTRIES,
	SURVEY_LIMITS
};

/* From now on answers are said to be partial in that. */
void survey_reach(struct survey *survey, enum survey_limit limit);
/* Whether it was. */
bool survey_has_reached(const struct survey *survey, enum survey_limit limit);
/* Static: a word for JSON, and a sentence. */
const char *survey_limit_name(enum survey_limit limit);
const char *survey_limit_words(enum survey_limit limit);

#endif
