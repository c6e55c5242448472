/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that dumps of one process are written to. In a pattern: %n program, %p PID, %h host, %i
 * number of the dump from 1 with four digits, %s the same from 0, %r letter of the reason
 * (dump_plan.h), %c number of the dump among those for that reason from 0 (nothing for the last
 * one), %f "_" and the PID in forked children that go on with their parent's plan (nothing in
 * others), %% percent. A relative name is relative to a folder that the caller gives.
 */
#ifndef CAPTURE_DUMP_FILES_H
#define CAPTURE_DUMP_FILES_H

#include "base/vec.h"
#include "capture/dump_plan.h"
#include "capture/dumps/dump_owner.h"

#include <sys/types.h>

struct dump_file {
	char *name;     /* absolute */
	uint64_t order; /* ascends as dumps were begun */
	struct dump_owner owner;
};
DEFINE_VEC(dump_file_vec, struct dump_file)

struct dump_files {
	uint32_t count;                /* dumps that were given a name */
	uint32_t counts[DUMP_REASONS]; /* of them, for each reason */
	struct dump_file_vec written;  /* those that were begun first at first */
};

void dump_files_init(struct dump_files *files);
void dump_files_deinit(struct dump_files *files);

/* Returns whether a pattern has the number of the process in it. */
bool dump_files_name_process(const char *pattern);

struct dump_naming {
	const struct dump_plan *plan;
	const char *recording; /* absolute name of the recording */
	const char *program;   /* base name */
	const char *folder;    /* what relative names are relative to */
	pid_t pid;
	bool inherited; /* it was forked, and goes on with its parent's plan */
};

/* Makes the name of the next dump. Returns NULL if there is no memory; the caller frees it. */
char *dump_files_next(
	struct dump_files *files, const struct dump_naming *naming, enum dump_reason reason);

/* Notes a file that was written, and removes those beyond `keep` (0: none) that were begun first,
 * which several at a time don't end in the order of, each with the rights of its owner. Takes
 * `file.name` over. A file that was written again counts once. */
void dump_files_note(struct dump_files *files, struct dump_file file, uint32_t keep);

#endif
