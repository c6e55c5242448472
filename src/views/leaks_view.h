/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A search for leaks, shown: as text for people, as JSON "heapwise.leaks/1"
 * (docs/schema/leaks-1.md), as memcheck prints it, and in the forms that CI systems read. Equal
 * input gives equal bytes.
 */
#ifndef VIEWS_LEAKS_VIEW_H
#define VIEWS_LEAKS_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/suppress.h"
#include "base/error.h"
#include "model/model.h"
#include "table/answer.h"
#include "views/views.h"

enum leaks_form {
	LEAKS_TEXT,
	LEAKS_JSON,
	LEAKS_CSV,
	LEAKS_MEMCHECK,
	LEAKS_SARIF,      /* 2.1.0 */
	LEAKS_JUNIT,      /* XML */
	LEAKS_GITHUB,     /* workflow commands that annotate lines */
	LEAKS_VALGRIND,   /* XML as of memcheck --xml=yes */
	LEAKS_GPERFTOOLS, /* a heap profile of what is shown, all of it */
	LEAKS_FORMS
};

/* As Valgrind's --leak-check. */
enum leaks_detail { LEAKS_NOTHING, LEAKS_SUMMARY, LEAKS_FULL };

struct leaks_view_options {
	enum leaks_form form;
	enum leaks_detail detail;
	unsigned show_kinds, error_kinds; /* bits 1 << enum leak_kind */
	/* Valgrind's --num-callers; 0: all frames, of LEAKS_MEMCHECK 12. */
	unsigned frames;
	unsigned resolution;     /* frames that make a stack another one; 0: all of these */
	bool separate_libraries; /* --run-libc-freeres */
	bool write_suppressions;
	bool list_suppressed; /* -s */
	bool verbose, quiet;
	bool all_frames;  /* of LEAKS_TEXT: none is folded */
	bool no_errors;   /* what is wrong besides leaks is no matter here */
	bool errors_only; /* nobody asked for leaks */
	bool of_moment; /* the question is what was lost at the search, not at the program's end */
	bool colour;    /* of LEAKS_TEXT */
	size_t limit;   /* rows to show; VIEW_DEFAULT_LIMIT */
	struct suppressions *suppressions;
	const char *version; /* of the tool, for LEAKS_SARIF; may be NULL */
	/* Of LEAKS_CSV: the file has a heading, or has one afterwards; rows say which recording
	 * they are of. NULL: the table is of one heap. */
	bool *has_heading;
};

/* NULL if there is no form of that name. */
const char *leaks_form_name(enum leaks_form form);

/* Blocks of the kinds that are errors, and of all. */
struct leaks_sums {
	uint64_t lost_blocks, lost_bytes, blocks, bytes;
};

struct leaks_outcome {
	struct leaks_sums sums;  /* blocks; 0 unless LEAKS_FULL */
	uint64_t errors;         /* rows that surely are errors; 0 unless LEAKS_FULL */
	uint64_t wrong;          /* other errors: rows of wrong frees */
	const char *wrong_doubt; /* why these are not certain; NULL: they are */
	const char *doubt; /* why it is undecided whether there are some, as the model has it; NULL:
			      it is decided */
	size_t left_out;   /* rows that the limit left out of LEAKS_JSON */
};

/* Writes it. NULL also when the sink stopped it: the sink knows. */
struct error *leaks_view_write(const struct model *model, const struct leaks_view_options *options,
	const struct sink *sink, struct leaks_outcome *ret) must_check_;

/* The group "leaks" of the same in another document, for programs: all of it, without suppressions.
 */
struct error *leaks_view_put(const struct model *model, struct answer *answer) must_check_;

/* The document that LEAKS_TEXT and LEAKS_JSON lay out. */
extern const struct answer_type leaks_answer_type;

#endif
