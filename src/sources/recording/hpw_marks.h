/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The marks of a recording, with when each was and what lived then: from the sums of its chunks
 * where these know that, else by a replay of the events.
 */
#ifndef SOURCES_HPW_MARKS_H
#define SOURCES_HPW_MARKS_H

#include <stdbool.h>
#include <string.h>

#include "base/vec.h"
#include "format/hpw.h"
#include "model/build.h"
#include "sources/events/hpw_clock.h"
#include "sources/events/hpw_range.h"
#include "sources/events/hpw_replay.h"

/* Returns whether it is a mark of the program's or its users', not one of the recorder's own. */
static inline bool hpw_mark_is_users(const char *name, size_t len)
{
	size_t own = strlen(HPW_MARK_FORK);
	return len < own || memcmp(name, HPW_MARK_FORK, own) != 0;
}

/* `row` as in the model, but for its number and name; owned. */
struct hpw_mark_row {
	struct mark row;
	char *name;
};
DEFINE_VEC(hpw_mark_rows, struct hpw_mark_row)

struct hpw_marks {
	struct hpw_mark_rows rows;
	const struct hpw_clock *clock; /* borrowed */
};

void hpw_marks_init(struct hpw_marks *marks, const struct hpw_clock *clock);
void hpw_marks_deinit(struct hpw_marks *marks);

/* Returns whether the sums know all that is to be known of each mark. */
bool hpw_marks_suit(const struct hpw_ranges *parts);
struct error *hpw_marks_sum_up(struct hpw_marks *marks, const struct hpw_ranges *parts);
/* Fills them while a replay goes on that has not begun. */
void hpw_marks_watch(struct hpw_marks *marks, struct hpw_replay *replay);

/* Puts those after from_step and up to to_step into the model, in their order. */
struct error *hpw_marks_put(
	struct hpw_marks *marks, struct model *model, uint64_t from_step, uint64_t to_step);

#endif
