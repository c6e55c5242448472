/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of a process that hold the address of a function of its allocator and are none of its
 * linker's references: tables of functions that were filled before (sqlite3's, GLib's). Calls
 * through them are not recorded.
 */
#ifndef CAPTURE_ATTACH_KEPT_H
#define CAPTURE_ATTACH_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/attach/plan.h"

/* Objects that are named, at most. */
#define KEPT_NAMED_MAX 4

struct kept_pointers {
	size_t words;
	size_t objects;
	bool partial; /* not all data was looked at: there was too much, or no memory */
	struct {
		const char *path; /* the plan's maps' */
		size_t words;
	} named[KEPT_NAMED_MAX]; /* the first objects */
};

/* Looks at the data of all objects (data, relocated constants, bss), not at the heap and stacks,
 * while the process runs. */
void kept_pointers_find(const struct attach_plan *plan, struct kept_pointers *ret);

/* Adds those of them that are in writable data to the plan's references, which are changed. A word
 * that holds such a number by chance is changed, too. ERROR_INPUT: there are too many. */
struct error *kept_pointers_take(struct attach_plan *plan) must_check_;

#endif
