/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of a file, as rows that programs in the kernel can search and follow (struct
 * watch_row): each says how to step over a frame from an address on. Made of .eh_frame by running
 * the call frame instructions of each function once (DWARF 5, 6.4; LSB 5.0 core, 10.6). Only what
 * leads to the next frame is kept: the CFA, rbp, and whether there is a caller.
 */
#ifndef CAPTURE_UNWIND_ROWS_H
#define CAPTURE_UNWIND_ROWS_H

#include "base/error.h"
#include "base/vec.h"
#include "bpf/watch_maps.h"
#include "process/elf_file.h"

DEFINE_VEC(watch_row_vec, struct watch_row)

/*
 * Adds the rows of a file, ascending, with addresses as linked; none if it has no unwind
 * information, or it is damaged. After the last row of each function without a neighbour there is
 * one of WATCH_ROW_NONE. The only error is lack of memory.
 */
struct error *unwind_rows_read(const struct elf_file *file, struct watch_row_vec *rows) must_check_;

#endif
