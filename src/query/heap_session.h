/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap of a core or a process that is asked about: opened once, read and judged when an answer
 * wants that.
 *
 *	struct heap_session session;
 *	heap_session_init(&session, &context);
 *	session.core = path;
 *	error = heap_session_open(&session);
 *	if (!error)
 *		error = heap_session_find_leaks(&session);
 *	… session.scan, session.model …
 *	heap_session_close(&session);
 *
 * A process stands still only until a copy of its memory is made; where it can't be copied, until
 * its heap is read, and what is read later is of the running process.
 */
#ifndef QUERY_HEAP_SESSION_H
#define QUERY_HEAP_SESSION_H

#include <sys/types.h>

#include "heap/heap_scan.h"
#include "heap/leads_to_block.h"
#include "process/guard.h"
#include "process/snapshot.h"
#include "process/stop.h"
#include "query/heap_recording.h"
#include "query/name_settings.h"

struct heap_session {
	struct query_context *context;
	const char *core; /* path; NULL: a process */
	pid_t pid;
	const char *exe;            /* --exe; NULL: none */
	const char *recording_path; /* --recording; NULL: what is found */
	bool no_recording;          /* --recording none */
	struct name_settings symbols;
	bool no_inference;
	enum pointer_rule pointers;
	unsigned heuristics; /* enum search_heuristic */

	char name[32]; /* of a process */
	struct heap_names names;
	struct address_space space;
	struct heap_scan scan;
	struct heap_recording recording;
	struct reverse reverse; /* of a heap of which one block alone is known; else empty */
	struct model *model;
	struct stopped stopped;
	struct snapshot snapshot;
	struct guard guard;              /* of the snapshot */
	struct process_maps maps_before; /* of a process, before it was stopped … */
	struct process_map_usage *usage; /* … and what they took; NULL: not known */
	bool has_snapshot, is_held;
	uint64_t pause_ns;
	bool is_one_question; /* nothing is asked but one verb */
	bool has_names, has_space, is_scanned, has_sites, has_leaks;
};

/* Prepares it; what the user wishes is filled in then. The context must outlive it. */
void heap_session_init(struct heap_session *session, struct query_context *context);
void heap_session_close(struct heap_session *session);

/* Opens what is to be looked at: mappings, modules, threads; nothing of the heap. */
struct error *heap_session_open(struct heap_session *session) must_check_;
/* Reads and types the heap, once. */
struct error *heap_session_scan(struct heap_session *session) must_check_;
/* The same; where nothing else will be asked than `why` of the block that a word is the address of,
 * no more may be typed than that needs. */
struct error *heap_session_scan_for(struct heap_session *session, const char *word) must_check_;
/* Joins it with its recording, if there is one, once; for those who need no kinds of leaks. */
struct error *heap_session_set_sites(struct heap_session *session) must_check_;
/* Sorts it into kinds of leaks and makes the model, once. */
struct error *heap_session_find_leaks(struct heap_session *session) must_check_;

/* The core's path, or "process PID". */
const char *heap_session_name(const struct heap_session *session);
/* What is known of where its blocks were allocated; NULL: nothing. */
const struct joined *heap_session_joined(const struct heap_session *session);

#endif
