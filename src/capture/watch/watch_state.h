/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a watch has: its process or the kernel, and what the last look found (watch.c,
 * watch_look.c).
 */
#ifndef CAPTURE_WATCH_STATE_H
#define CAPTURE_WATCH_STATE_H

#include "capture/watch.h"
#include "capture/watch/known_sites.h"
#include "capture/watch/watch_mappings.h"
#include "capture/watch/watched_process.h"

DEFINE_VEC(watch_events, struct watch_event)

struct watch {
	struct watch_options options;
	struct watched_process process;
	struct watch_mappings mappings;
	struct watch_events events; /* of mappings, not yet taken in */
	struct known_sites sites;
	struct watch_stacks stacks; /* one of each site, with the same number */
	struct watch_losses losses;
	struct watch_lives lives;
	bool keeps_blocks, no_memory;
	bool has_more;           /* calls that on_call had no room for */
	bool sees_threads;       /* their numbers are those of the kernel's programs */
	uint64_t replaced_ns;    /* when the process executed another program the last time */
	uint64_t programs;       /* that it executed since the start */
	uint64_t linker;         /* address at which the dynamic linker reports; 0: not known */
	uint64_t modules_at_ns;  /* when the one at that address reported first */
	bool linker_changed;     /* so there is another program */
	uint64_t purged_ns;      /* when threads that have ended were removed the last time */
	size_t functions, files; /* that are probed */
	/* During a look. */
	uint64_t now_ns, older_ns;
};

#endif
