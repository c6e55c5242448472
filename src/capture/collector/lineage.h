/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the recording of a forked child's parent: by pid, and, since pids are reused and a process
 * may exec, by the latest image that had begun before the fork. The newest LINEAGE_MAX images are
 * known, including ended ones: a daemon's parent ends before the child says anything.
 */
#ifndef CAPTURE_LINEAGE_H
#define CAPTURE_LINEAGE_H

#include <stdint.h>
#include <sys/types.h>

#define LINEAGE_MAX 65536u

struct lineage_image {
	pid_t pid, outer_pid;      /* in the target's PID namespace, and in the collector's */
	uint64_t began;            /* stamp */
	char *file;                /* base name; owned */
	uint64_t announced, named; /* children that it forked: those that said so, and whose
				    * recordings name this one */
};

struct lineage {
	struct lineage_image *images; /* a ring, once it has LINEAGE_MAX */
	uint64_t capacity;
	uint64_t count; /* ever added */
};

void lineage_deinit(struct lineage *lineage);

/* Adds an image that begins to be recorded. Returns its number, from 1 on. Returns 0 if there is no
 * memory: then only what its children inherit from it is unknown. */
uint64_t lineage_add(
	struct lineage *lineage, pid_t pid, pid_t outer_pid, uint64_t began, const char *file);

/* Returns the image that forked at that stamp; NULL: not known. Good until the next lineage_add().
 * Of several with that `pid`, in PID namespaces of their own, it is the one whose number here is
 * `outer_pid`, if there is such a one: a child that has lost its parent has another. */
struct lineage_image *lineage_find(
	const struct lineage *lineage, pid_t pid, pid_t outer_pid, uint64_t forked_at);

/* Returns the image of that number; NULL if it is not known any more. */
struct lineage_image *lineage_at(const struct lineage *lineage, uint64_t number);
/* Returns the number of an image that was found. */
uint64_t lineage_number(const struct lineage *lineage, const struct lineage_image *image);

#endif
