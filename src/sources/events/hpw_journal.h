/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chunks that hold others, and that their writer has written to again and again: CHECKPOINT and
 * RING (FORMAT.md). What counts of them is put at the end of a file's list of chunks.
 */
#ifndef SOURCES_HPW_JOURNAL_H
#define SOURCES_HPW_JOURNAL_H

#include "base/error.h"
#include "sources/recording/hpw_file.h"

/* What the EVENTS of a ring are about; steps 0: there is none, or nothing whole in it. */
struct hpw_ring {
	uint64_t first_step, steps;
	uint64_t from_tsc, until_tsc;
};

/* Lists the EVENTS in RING chunks, without gaps up to the last one. */
struct error *hpw_journal_ring(
	struct hpw_file *file, struct hpw_damage *damage, struct hpw_ring *ret);

/* Lists what is in the latest whole checkpoint, if the file has no SUMMARY; then file->checkpoint
 * is set. */
struct error *hpw_journal_checkpoint(struct hpw_file *file, struct hpw_damage *damage);

#endif
