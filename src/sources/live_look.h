/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at the memory of a running process, one after the other. Nothing is written to it and it is
 * not stopped. A brief look takes a line of maps and the page tables (process/page_scan.h); a full
 * one also smaps, which takes ten times as long, and what the memory is for.
 */
#ifndef SOURCES_LIVE_LOOK_H
#define SOURCES_LIVE_LOOK_H

#include <sys/types.h>

#include "base/error.h"
#include "model/memory_look.h"
#include "process/page_scan.h"
#include "process/proc_text.h"

enum live_look_way {
	LIVE_LOOK_ANY,   /* by page tables if the kernel can, else by smaps */
	LIVE_LOOK_SCAN,  /* by page tables, or an error */
	LIVE_LOOK_SMAPS, /* each look is a full one */
};

struct live_looker {
	pid_t pid;
	pid_t reads; /* a thread that has its memory: pid, unless its first thread has ended */
	struct proc_text maps, smaps, sizes, numa;
	struct page_scan scan;
	bool reads_nodes;    /* each look has its NUMA nodes; `numa` is open */
	bool nodes_failed;   /* they could not be read at some look */
	bool scans;          /* resident bytes are those of the page tables */
	bool owners_known;   /* of the last full look: memory could be read for that */
	bool owners_cut;     /* of any: reading allocators' tables ended at its bound */
	size_t left_out;     /* lines of the last look that could not be understood */
	size_t reused;       /* looks since maps were read */
	unsigned long pages; /* of the address space when they were */
};

/* Call live_looker_close() in any case. Errors: as of proc_text_open(); ERROR_ENVIRONMENT also
 * where LIVE_LOOK_SCAN can't be had. */
struct error *live_looker_open(
	pid_t pid, enum live_look_way way, struct live_looker *ret) must_check_;
void live_looker_close(struct live_looker *looker);

/* From now on looks have their NUMA nodes, which takes as long as smaps. Errors: as of
 * proc_text_open(). */
struct error *live_looker_read_nodes(struct live_looker *looker) must_check_;

/*
 * Looks. `look` is that of the time before, or a fresh one. *ret_ended: the program has ended, or
 * another one was executed in its place; then `look` is as it was. ERROR_INPUT: it has no memory,
 * as threads of the kernel have none.
 */
struct error *live_look_take(struct live_looker *looker, bool full, struct memory_look *look,
	bool *ret_ended) must_check_;

/* Pages that are in memory now, as ranges. ERROR_ENVIRONMENT: the kernel can't say. */
struct error *live_look_pages(struct live_looker *looker,
	bool (*take)(void *ctx, uint64_t start, uint64_t end), void *ctx) must_check_;

#endif
