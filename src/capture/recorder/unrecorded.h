/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that a recorded process started, or went on as, and that are not recorded: the first of
 * them by name, all of them as a count. Rows go to the recording in portions (HPW_UNRECORDED).
 */
#ifndef CAPTURE_UNRECORDED_H
#define CAPTURE_UNRECORDED_H

#include "base/vec.h"
#include "format/hpw.h"
#include "format/kinds.h"
#include "format/shm.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct unrecorded {
	uint64_t stamp;
	pid_t pid; /* as the target sees it */
	enum hw_unrecorded reason;
	char path[HW_NOTICE_PATH];
	uint64_t noted_ns; /* when it came into the list, CLOCK_MONOTONIC */
};

/* What a process turns out to be may come so much later: rows are not written before. */
#define UNRECORDED_SETTLED_NS 3000000000u

DEFINE_VEC(unrecorded_vec, struct unrecorded)

struct unrecorded_list {
	struct unrecorded_vec rows; /* at most HPW_UNRECORDED_MAX, in the order they came */
	size_t written;             /* of these, that are in the file */
	uint64_t count;             /* all */
	struct unrecorded last;     /* added last; PID 0: none, or taken back */
};

void unrecorded_init(struct unrecorded_list *list);
void unrecorded_deinit(struct unrecorded_list *list);

/* How many rows, from the first on, came at least UNRECORDED_SETTLED_NS ago. */
size_t unrecorded_settled(const struct unrecorded_list *list, uint64_t now_ns);

/* Without memory, or room, it is only counted. */
void unrecorded_add(struct unrecorded_list *list, const struct unrecorded *one);

/* What was added last for this process has not come about: *ret is what it was, as far as that is
 * known. False: nothing is known of it. */
bool unrecorded_take_back(struct unrecorded_list *list, pid_t pid, struct unrecorded *ret);

/* What was added last for one->pid has become this program: *ret_before is what it was. False:
 * there is none, or it is in the file already, and nothing has happened. */
bool unrecorded_replace(
	struct unrecorded_list *list, const struct unrecorded *one, struct unrecorded *ret_before);

#endif
