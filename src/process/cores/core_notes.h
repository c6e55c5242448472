/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The notes of a core dump: threads and their registers, mapped files, the auxiliary vector. */
#ifndef PROCESS_CORE_NOTES_H
#define PROCESS_CORE_NOTES_H

#include "process/core_file.h"

/*
 * Reads the notes of one PT_NOTE segment into `core`; unknown notes are skipped. Malformed ones set
 * notes_damaged. The only error is lack of memory.
 */
struct error *core_notes_read(
	struct core_file *core, const uint8_t *notes, size_t bytes) must_check_;

/* Reads the values of an auxiliary vector of `len` bytes. */
void core_auxv_take(struct core_auxv *auxv, const uint8_t *bytes, size_t len);

#endif
