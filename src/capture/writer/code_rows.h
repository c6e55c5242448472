/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code in no loaded file, as a source of events has it, as CODE chunks: FORMAT.md, CODE. */
#ifndef CAPTURE_CODE_ROWS_H
#define CAPTURE_CODE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "capture/recorder/event_source.h"

/* Returns how many rows a source has, number 0 included; 1: none. */
uint32_t code_rows_count(struct event_source *source);

/*
 * Appends a chunk of rows from *next on and moves *next; *ret_ok: false: no memory. Returns false
 * if there are none.
 */
bool code_rows_put(struct buf *ret, struct event_source *source, uint32_t *next, bool *ret_ok);

/* A frame of code: its row, and the instruction + 1. False: it is none, or its row is not there. */
bool code_rows_frame(uint64_t frame, uint32_t count, uint32_t *ret_row, uint64_t *ret_instruction);

#endif
