/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sorted table of unwind entries (.eh_frame_hdr) of a program that was linked without one, as
 * static ones often are; made of its .eh_frame. LSB 5.0 core, 10.6; DWARF 5, 6.4.
 */
#ifndef CAPTURE_FRAME_TABLE_H
#define CAPTURE_FRAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "process/elf_file.h"

/* Where a function begins, and its entry (FDE): addresses of the process. */
struct frame_entry {
	uint64_t start, entry;
};
DEFINE_VEC(frame_entry_vec, struct frame_entry)

/* Adds the entries of `section`, .eh_frame, of a file that is loaded at `bias`, and sorts them.
 * What is damaged ends the list. Returns false if there is no memory. */
bool frame_entries_read(const struct elf_file *file, const Elf64_Shdr *section, uint64_t bias,
	struct frame_entry_vec *entries);

/* Bytes of a table of so many entries. */
size_t frame_table_bytes(size_t entries);

/* Makes the table that is to be at the address `at`. Returns false if it does not fit, or an entry
 * is further away than 2 GiB. */
bool frame_table_make(
	const struct frame_entry_vec *entries, uint64_t at, uint8_t *ret, size_t room);

#endif
