/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is compared, as users name it: FILE or FILE@MOMENT of recordings, a core, a process. */
#ifndef QUERY_OPERANDS_H
#define QUERY_OPERANDS_H

#include <sys/types.h>

#include "model/model.h"
#include "query/heap_operand.h"
#include "query/moments.h"
#include "sources/source.h"

/* All 0 before it is opened. */
struct operand {
	const char *text; /* as it was given */
	struct model *model;
	struct moments moments;
	char *path;
	dev_t device;
	ino_t inode;
};

/* What is to be known of one; all 0: what every recording says. */
struct operand_wanted {
	unsigned flags;                     /* enum source_flag */
	const struct source_blocks *blocks; /* as of struct source_query */
	enum source_class class;            /* likewise */
	const struct source_series *series; /* likewise */
	enum heap_by by;                    /* of cores and processes */
	bool again; /* it was opened before: what is missing is not noted anew */
};

/* Takes FILE and MOMENT apart. ERROR_USAGE: there is no such moment. The text must outlive it;
 * operand_deinit() in either case. */
struct error *operand_parse(const char *text, struct operand *ret) must_check_;
/* Opens one that was parsed, and notes what is missing from it. ERROR_INPUT: it can't be read, or
 * is a difference itself. */
struct error *operand_open(struct query_context *context, const struct operand_wanted *wanted,
	struct operand *operand) must_check_;
void operand_deinit(struct operand *operand);

/* Refuses to compare what a program has mapped with a heap: ERROR_INPUT. */
struct error *operand_check_class(const struct recording *a, const struct recording *b) must_check_;

/* Whether both are of one recording. */
bool operand_same_file(const struct operand *a, const struct operand *b);
/* Whether the model is of that recording, and of no other. */
bool operand_is_of(const struct operand *operand, const struct model *model);

#endif
