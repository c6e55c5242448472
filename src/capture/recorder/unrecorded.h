/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unrecorded programs that a recorded process started, or executed itself: the first ones by name,
 * all of them as a count. Rows go to the recording in portions (HPW_UNRECORDED).
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
	pid_t pid; /* in the target's PID namespace */
	enum hw_unrecorded reason;
	char path[HW_NOTICE_PATH];
	uint64_t noted_ns; /* when it was added, CLOCK_MONOTONIC */
};

/* A process may still become another program for this time: its row is not written before. */
#define UNRECORDED_SETTLED_NS 3000000000u

DEFINE_VEC(unrecorded_vec, struct unrecorded)

struct unrecorded_list {
	struct unrecorded_vec rows; /* at most HPW_UNRECORDED_MAX, in order of arrival */
	size_t written;             /* of these, that are in the file */
	uint64_t count;             /* all */
	struct unrecorded last;     /* added last; PID 0: none, or taken back */
};

void unrecorded_init(struct unrecorded_list *list);
void unrecorded_deinit(struct unrecorded_list *list);

/* Returns how many rows, from the first on, were added at least UNRECORDED_SETTLED_NS ago. */
size_t unrecorded_settled(const struct unrecorded_list *list, uint64_t now_ns);

/* Adds a program; if there is no memory or no room, it is only counted. */
void unrecorded_add(struct unrecorded_list *list, const struct unrecorded *one);

/* Takes back the last program of a process, which was not started after all. *ret becomes what is
 * known of it. Returns false if nothing is. */
bool unrecorded_take_back(struct unrecorded_list *list, pid_t pid, struct unrecorded *ret);

/* Replaces the last program of one->pid by another one; *ret_before becomes the former one. Returns
 * false, and does nothing, if there is none or it is in the file already. */
bool unrecorded_replace(
	struct unrecorded_list *list, const struct unrecorded *one, struct unrecorded *ret_before);

#endif
