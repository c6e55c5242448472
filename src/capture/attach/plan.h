/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is to be changed in a process, found while it runs: which functions its objects call, where
 * the words are that lead to them, and why it can't be recorded.
 */
#ifndef CAPTURE_ATTACH_PLAN_H
#define CAPTURE_ATTACH_PLAN_H

#include <sys/types.h>

#include "base/error.h"
#include "capture/attach/frame_table.h"
#include "capture/attach/inline_plan.h"
#include "capture/attach/objects.h"
#include "format/attach.h"
#include "process/linked_objects.h"

DEFINE_VEC(attach_address_vec, uint64_t)

struct attach_plan {
	pid_t pid;
	struct linked_objects objects;
	uint64_t real[HW_ATTACH_FUNCTIONS]; /* 0: the process has none */
	uint64_t operators;                 /* enum hw_attach_operators */
	const char *allocator;              /* path of the object that defines malloc; borrowed */
	uint64_t find_object;               /* see struct hw_attach; 0: `table` counts */
	struct attach_object_vec table;     /* the objects, if the process can't tell them */
	/* As in struct hw_attach, without the image itself. */
	struct hw_attach_range inner[HW_ATTACH_INNER_MAX - 1];
	size_t inner_count;
	/* Functions of the executable that are changed themselves; their `real` is 0. */
	struct inline_plan inlined;
	/* Of a program that was linked without a table of its unwind entries; else none. */
	struct frame_entry_vec frames;
	struct linked_slot_vec slots;
	size_t pointers;           /* of these the last are no references, but words of kept.h */
	uint64_t image, image_end; /* of a process that is attached; else 0 */
	size_t other;              /* words of allocating functions that lead elsewhere, and stay */
	size_t changed_objects;    /* that have a slot */
	struct attach_address_vec changed; /* their dynamic sections */
	bool is_filtered; /* threads are under seccomp filters, which are read when they are stopped
			   */
	bool is_recorded; /* it is refused since it is recorded or attached already */
	bool has_lazy;    /* some slots are not bound yet */
	bool samples;     /* not every event is to be recorded */
	unsigned threads;
};

/*
 * Examines a process. The reasons against recording it are errors, with what to do. Call
 * attach_plan_deinit() in any case.
 */
struct error *attach_plan_make(pid_t pid, struct attach_plan *ret) must_check_;
void attach_plan_deinit(struct attach_plan *plan);

/* Reads the objects anew, of a process that is attached: `before` says which functions count. */
struct error *attach_plan_renew(
	const struct attach_plan *before, struct attach_plan *ret) must_check_;

#endif
