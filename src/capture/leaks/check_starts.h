/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the checks of a program began (gperftools' HeapLeakChecker objects): which blocks are of
 * after that. A block is identified by its thread and number, as in lsan_annotations.h, so a start
 * is how many allocations each thread had made.
 */
#ifndef CAPTURE_CHECK_STARTS_H
#define CAPTURE_CHECK_STARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "capture/recorder/tally.h"

struct check_start {
	uint64_t id;           /* the program's */
	uint64_t *allocations; /* of each thread that there was */
	uint32_t thread_count;
};
DEFINE_VEC(check_start_vec, struct check_start)

struct check_starts {
	struct check_start_vec starts;
};

/* Makes a start of this moment; free it by check_start_deinit(). False: there is no memory. */
bool check_start_init(struct check_start *start, uint64_t id, const struct tally *tally);
void check_start_deinit(struct check_start *start);

void check_starts_init(struct check_starts *starts);
void check_starts_deinit(struct check_starts *starts);

/* Remembers that check `id` begins now. One that can't be remembered (there are too many, or no
 * memory) will not be found. */
void check_starts_add(struct check_starts *starts, uint64_t id, const struct tally *tally);

/* Forgets a check; one that is not known is allowed. */
void check_starts_remove(struct check_starts *starts, uint64_t id);

/* Returns the start of a check, borrowed until the next change; NULL: it is not known. */
const struct check_start *check_starts_find(const struct check_starts *starts, uint64_t id);

/* Returns whether allocation `number` of a thread came after the start. */
bool check_start_precedes(const struct check_start *start, uint32_t thread, uint64_t number);

#endif
