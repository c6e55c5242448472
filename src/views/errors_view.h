/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors of a program one by one, as `heapwise check` prints them while it runs. */
#ifndef VIEWS_ERRORS_VIEW_H
#define VIEWS_ERRORS_VIEW_H

#include "base/error.h"
#include "base/sink.h"
#include "base/text.h"
#include "model/errors.h"
#include "model/model.h"
#include "table/answer.h"

struct errors_view_options {
	size_t first;            /* number of the first one that is shown */
	size_t frames;           /* of each stack at most; 0: all */
	bool all_frames;         /* of libc and of the recorder too */
	bool write_suppressions; /* as text: an entry for each, after it */
	const char *process;     /* "sort (1234)", added to each heading; NULL: nothing is */
	bool recording_moves;    /* as JSON: the model's file is not where it will be: */
	const char *recording;   /* where that is; NULL: it is not kept */
};

/* Adds the errors of a model from `first` on, each as a paragraph, to *out. */
struct error *errors_view_add(const struct model *model, const struct errors_view_options *options,
	struct text *out) must_check_;

/* The end of a run, after all errors. */
struct errors_view_end {
	uint64_t errors;     /* how often, in all processes */
	uint64_t different;  /* different ones of each process, added up */
	uint64_t suppressed; /* how often errors came that are in none of these figures */
	uint64_t processes;  /* that were looked at */
	uint64_t undecided;  /* of them, in which errors may be missing */
	bool ended;          /* a program was ended because of one */
};

/* Writes errors from `first` on as a line, a JSON document: heapwise.check/1. */
struct error *errors_view_json(const struct model *model, const struct errors_view_options *options,
	const struct sink *sink) must_check_;
/* What `check --uninit` has found: a block whose unwritten bytes change the results. */
struct errors_view_unwritten {
	uint64_t number;      /* of the block, in the order of allocation, from 0 */
	uint64_t block_bytes; /* 0: not known */
	uint64_t offset, bytes;
	bool has_bytes;         /* these are known */
	bool alone;             /* it changes the results without earlier ones */
	const char *difference; /* a sentence: what it changes */
};

struct errors_view_search {
	const char *verdict, *why; /* why NULL: nothing to say */
	uint64_t runs, blocks, lines_left_out;
	uint64_t runs_most; /* at which it would have ended */
	bool more;          /* there may be further blocks */
	bool spent;         /* it ended at runs_most */
	/* Buffers that were handed to the kernel: */
	bool leaving_known;         /* leaving_calls and leaving_changed are */
	uint64_t leaving_looked_at; /* calls */
	uint64_t leaving_calls;     /* of them, with bytes that were never written */
	uint64_t leaving_changed;   /* which may have some, and were not made in each run */
	uint64_t leaving_left_out;  /* of which not all bytes were looked for */
	const struct errors_view_unwritten *found;
	size_t found_count;
};

/* Writes the line of a search for unwritten memory. */
struct error *errors_view_json_search(
	const struct errors_view_search *search, const struct sink *sink) must_check_;

/* Writes the last line. coverage NULL: nothing is known. */
struct error *errors_view_json_end(const struct errors_view_end *end,
	const struct check_coverage *coverage, const struct sink *sink) must_check_;

/* Adds sentences on what was looked at, each with its line end. */
void errors_view_coverage(const struct check_coverage *coverage, struct text *out);

/* Adds what limits (enum check_limit, or'ed) stand for, in words, with commas. */
void errors_view_limits(uint32_t limits, struct text *out);

/* Errors of a model in short, for a list of them. */
struct errors_view_places;
struct error *errors_view_places_open(
	const struct model *model, struct errors_view_places **ret) must_check_;
void errors_view_places_close(struct errors_view_places *places);
/* Adds error `number` in a line without its end: its kind, what it is, and where. Addresses are
 * not in it: errors at one place are the same. */
void errors_view_place(struct errors_view_places *places, size_t number, struct text *out);

/* heapwise.check/1, for docs/schema. */
extern const struct answer_type check_answer_type;

/* How bad errors of a kind are: 0 the worst. Writes are worse than reads. */
unsigned errors_view_severity(const char *kind);

#endif
