/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By which heuristics blocks of a heap are held, in any form. Inside views/ only. */
#ifndef VIEWS_HEURISTICS_H
#define VIEWS_HEURISTICS_H

#include "base/text.h"
#include "heap/heap_scan.h"

/* "length64": its name in --leak-check-heuristics; NULL: there is none. Static. */
const char *heuristic_name(enum search_heuristic heuristic);

/* Adds ", by heuristics alone 22.0 KiB in 227 blocks (length64), …" of those that hold any. */
void heuristics_add_sums(struct text *text, const struct search_totals *totals);

#endif
