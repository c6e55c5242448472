/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which recording a forked child's parent has: by pid, and, since numbers come again and a process
 * execs, by the latest image that had begun before the fork. The newest LINEAGE_MAX are known,
 * those that have ended too: a daemon's parent ends before the child says anything.
 */
#ifndef CAPTURE_LINEAGE_H
#define CAPTURE_LINEAGE_H

#include <stdint.h>
#include <sys/types.h>

#define LINEAGE_MAX 65536u

struct lineage_image {
	pid_t pid, outer_pid;  /* as the target sees it, and as this side does */
	uint64_t began;        /* stamp */
	char *file;            /* base name; owned */
	uint64_t heard, named; /* children that it forked: those that said so, and whose recordings
				* name this one */
};

struct lineage {
	struct lineage_image *images; /* a ring, once it has LINEAGE_MAX */
	uint64_t capacity;
	uint64_t count; /* ever added */
};

void lineage_deinit(struct lineage *lineage);

/* An image begins to be recorded. Returns its number, from 1 on; 0: it is not known. Without memory
 * for it, it is not known, which costs no more than what its children inherit. */
uint64_t lineage_add(
	struct lineage *lineage, pid_t pid, pid_t outer_pid, uint64_t began, const char *file);

/* The image that forked at that stamp; NULL: not known. Good until
 * the next lineage_add(). Of several with that `pid`, in PID namespaces of their own, it is the
 * one whose number here is `outer_pid`, if there is such a one: a child that has lost its parent
 * has another. */
struct lineage_image *lineage_find(
	const struct lineage *lineage, pid_t pid, pid_t outer_pid, uint64_t forked_at);

/* The image of that number; NULL: it is not known any more. */
struct lineage_image *lineage_at(const struct lineage *lineage, uint64_t number);
/* The number of one that was found. */
uint64_t lineage_number(const struct lineage *lineage, const struct lineage_image *image);

#endif
