/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that the C library keeps for itself, recognised without its debug files: by the caller
 * that allocated it and by what references it. Most of the functions that do are only in debug
 * files.
 */
#ifndef ANALYSIS_LEAK_LIBRARIES_H
#define ANALYSIS_LEAK_LIBRARIES_H

#include "analysis/leaks.h"

/*
 * Returns whether libc itself called for the blocks of a row, and nothing but its data holds them;
 * or they are of functions whose results it is known to keep. Not streams: the code that opened
 * them must close them.
 */
bool leak_library_keeps(const struct leaks *leaks, const struct leak_row *row);

#endif
