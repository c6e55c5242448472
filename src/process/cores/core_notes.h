/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The notes of a core dump: threads and their registers, mapped files, the auxiliary vector. */
#ifndef PROCESS_CORE_NOTES_H
#define PROCESS_CORE_NOTES_H

#include "process/core_file.h"

/*
 * Takes what it knows of the notes of one PT_NOTE segment; others are passed over, whatever they
 * are. What makes no sense sets notes_damaged. The only errors are of memory.
 */
struct error *core_notes_read(
	struct core_file *core, const uint8_t *notes, size_t bytes) must_check_;

/* Takes what it knows of an auxiliary vector. */
void core_auxv_take(struct core_auxv *auxv, const uint8_t *bytes, size_t len);

#endif
