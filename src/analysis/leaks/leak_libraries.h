/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the C library keeps for itself, told without debug files of its: by who called for the
 * memory and by what holds it. Most of the functions that do are known to debug files alone.
 */
#ifndef ANALYSIS_LEAK_LIBRARIES_H
#define ANALYSIS_LEAK_LIBRARIES_H

#include "analysis/leaks.h"

/*
 * Whether libc itself called for the blocks of a row, and nothing but its data holds them; or they
 * are of functions whose results it is known to keep. Not streams: who opened them is to close
 * them.
 */
bool leak_library_keeps(const struct leaks *leaks, const struct leak_row *row);

#endif
