/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From lines of maps and smaps to mappings of a look. */
#ifndef SOURCES_MAPS_LOOK_ENTRY_H
#define SOURCES_MAPS_LOOK_ENTRY_H

#include "model/memory_look.h"

/* Adds what a text of maps or smaps has, which must live as long as the look and is written to.
 * *ret_left_out: lines that are neither. False: no memory. */
bool look_entries_read(struct memory_look *look, char *text, size_t *ret_left_out);

#endif
