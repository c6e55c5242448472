/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HEAP_SURVEY_BLOCKS_H
#define HEAP_SURVEY_BLOCKS_H

#include "heap/survey.h"

/* Finds all blocks, their classes and how many of each state there are; large heaps by two threads.
 * For survey_open(). */
struct error *survey_read_blocks(struct survey *survey) must_check_;

#endif
