/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes a process so that its calls of the allocator's functions are recorded, and changes it
 * back. All its threads are stopped meanwhile, for about a millisecond; it does nothing itself but
 * a few system calls.
 */
#ifndef CAPTURE_ATTACH_INJECT_H
#define CAPTURE_ATTACH_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "capture/attach/image.h"
#include "capture/attach/plan.h"
#include "capture/recorder/recorder.h"

struct before;

struct attach_pause {
	uint64_t stop_ns; /* that it took to stop all threads */
	uint64_t all_ns;  /* that the first of them was stopped */
	/* Threads that have not stopped, as they did not return from the kernel, and the first. */
	size_t late_threads;
	pid_t late_tid;
};

struct attached {
	pid_t pid;
	uint64_t image; /* where the image is in the process */
	uint64_t settings, data;
	uint64_t own; /* where struct hw_attach_own is */
	struct attach_pause pause;
};

/*
 * Maps the image and the memory `shared` (a descriptor, of HW_SHM_BYTES) into the process and
 * changes the plan's slots. On failure the process is as it was, but for memory that could not be
 * unmapped. budget_ns: if it takes longer to stop all threads, nothing is changed. Nothing is
 * changed either while a vfork child runs in the process's memory (ERROR_ENVIRONMENT); one that has
 * not gone on is waited for for two seconds.
 * before: is told when it has stopped.
 */
struct error *attach_inject(const struct attach_plan *plan, const struct attach_image *image,
	int shared, uint64_t budget_ns, struct before *before, struct attached *ret) must_check_;

/* Changes slots of objects that were loaded since, as `plan` has them now, which were not changed
 * yet, and those that the process has overwritten; *ret_changed: how many. */
struct error *attach_inject_more(const struct attached *attached, const struct attach_image *image,
	const struct attach_plan *plan, size_t *ret_changed) must_check_;

/* Returns the number of the last thread that has loaded a library and waits for its references to
 * be changed (struct hw_attach_own); 0: none does. */
uint64_t attach_asked(const struct attached *attached);
/* All that have asked until then go on. */
void attach_answer(const struct attached *attached, uint64_t asked);

/* Returns whether the process still has the image: it has not become another program. */
bool attach_is_there(const struct attached *attached);

struct attach_removed {
	size_t slots;          /* put back */
	size_t functions;      /* likewise, that were changed themselves */
	size_t functions_left; /* that the process or another tool has changed meanwhile: as they
				  are */
	size_t elsewhere;      /* that the process has changed meanwhile: as they are */
	uint64_t left_bytes; /* of data that is still mapped, since a thread is in an event; 0: none
			      */
	uint64_t code_bytes; /* that stay mapped, for who has kept a hook's address */
	pid_t late_tid;      /* a thread that did not return from the kernel; 0: none */
	struct attach_pause pause;
};

/*
 * Puts all slots back and unmaps everything. Works on whatever process has an image of this version
 * mapped, by whatever process. ERROR_INPUT: the process has none. `meanwhile` is called while
 * threads have to go on that wait for room in their rings; NULL: nothing.
 */
struct error *attach_remove(pid_t pid, const struct recorder_meanwhile *meanwhile,
	struct attach_removed *ret) must_check_;

/* Returns whether a process has an image mapped, which stays when it is let go: one that has none
 * any more has become another program, or has ended. True also if that can't be told. */
bool attach_has_image(pid_t pid);

/* Does so for a process that is a copy of an attached one, as fork() makes it; of others it is
 * ERROR_INPUT, and nothing is done. */
struct error *attach_remove_copy(pid_t pid, struct attach_removed *ret) must_check_;

#endif
