/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stories that several tests tell. */
#ifndef TESTS_LIB_HPW_STORIES_H
#define TESTS_LIB_HPW_STORIES_H

#include "lib/hpw_story.h"

/* One thread, one leak, one temporary block: the smallest that has everything a report shows. */
extern const struct story story_small;
/* Three threads and every kind of step, in chunks of five. */
extern const struct story story_full;
/* Stacks through code of no file, with its names. */
extern const struct story story_code;
extern const struct story story_frames;
/* Of a process that starts programs without a recording, and goes on as one. */
extern const struct story story_unrecorded;
/* The full one with two processes that are rows, and figures of sites in several chunks. */
extern const struct story story_rows;
/* Of a process that was forked, and forks. */
extern const struct story story_forked;
/* Two threads and blocks of each kind of leak: a global holds a list of two, a register points into
 * a block, one that nothing holds has another one. */
extern const struct story story_leaks;
extern const struct story_leaks leaks_small;

/* Random steps of several threads, always the same for a seed. Freed by story_random_free. */
struct story story_random(uint64_t seed, size_t steps);
void story_random_free(struct story *story);

#endif
