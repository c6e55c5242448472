/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap that `core` and `heap` look at: opened once, read and judged when a verb wants that.
 * A process stands still only until a copy of its memory is made; where it can't be copied, until
 * its heap is read, and what is read later is of the running process.
 */
#ifndef CLI_HEAP_SESSION_H
#define CLI_HEAP_SESSION_H

#include <sys/types.h>

#include "cli/heap_recording.h"
#include "cli/heap_wishes.h"
#include "cli/output.h"
#include "cli/symbol_options.h"
#include "cli/terminal.h"
#include "heap/survey.h"
#include "process/guard.h"
#include "process/snapshot.h"
#include "process/stop.h"
#include "search/reverse.h"
#include "views/heap_view.h"

struct heap_session {
	const char *core; /* path; NULL: a process */
	pid_t pid;
	const char *exe;            /* --exe; NULL: none */
	const char *recording_path; /* --recording; NULL: what is found */
	bool no_recording;          /* --recording none */
	const char *as;             /* --as; NULL: none */
	struct heap_wishes wishes;  /* of the verb */
	struct symbol_options symbols;
	bool json, csv, colour, no_pager, no_inference;
	bool json_before;             /* --json=1 */
	enum colour_when colour_when; /* --color of the command line */
	size_t limit;
	enum pointer_rule pointers;
	unsigned heuristics; /* enum search_heuristic */

	char name[32]; /* of a process */
	struct heap_names names;
	struct address_space space;
	struct survey survey;
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
	bool has_names, has_space, is_surveyed, is_placed, is_judged;
	bool has_said_damage; /* to who asks one thing after the other it is said once */
};

/* Prepares it; what the user wishes is filled in then. */
void heap_session_init(struct heap_session *session);
void heap_session_close(struct heap_session *session);

/* Opens what is to be looked at: mappings, modules, threads; nothing of the heap. */
struct error *heap_session_open(struct heap_session *session) must_check_;
/* Reads and types the heap, once. */
struct error *heap_session_survey(struct heap_session *session) must_check_;
/* The same; where nothing else will be asked than `why` of the block that a word is the address of,
 * no more may be typed than that needs. */
struct error *heap_session_survey_for(struct heap_session *session, const char *word) must_check_;
/* Joins it with its recording, if there is one, once; for those who need no kinds of leaks. */
struct error *heap_session_place(struct heap_session *session) must_check_;
/* Sorts it into kinds of leaks and makes the model, once. */
struct error *heap_session_judge(struct heap_session *session) must_check_;

/* What is passed to views. */
struct heap_page heap_session_page(struct heap_session *session);
/* Where a verb writes what it shows; a pager is in front of it if that is wanted. */
struct sink heap_session_sink(const struct heap_session *session, struct output *output);
/* Ends it: the exit code, after saying what went wrong. Takes the error. */
int heap_session_shown(struct output *output, struct error *error);

#endif
