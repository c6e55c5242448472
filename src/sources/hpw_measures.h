/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What else is known of the moments of a series, by the sums of chunks: how large the stacks of
 * threads were, how many instructions the process had executed. */
#ifndef SOURCES_HPW_MEASURES_H
#define SOURCES_HPW_MEASURES_H

#include "sources/hpw_footer.h"
#include "sources/hpw_part.h"
#include "sources/hpw_series.h"

/* Fills stack_bytes and instructions of all rows. A thread counts from the chunk on in which its
 * stack was first seen, until it has ended; as large as it was in the latest chunk that it did
 * something in. */
struct error *hpw_measures_fill(
	struct hpw_series *series, const struct hpw_parts *parts, const struct hpw_footer *footer);

#endif
