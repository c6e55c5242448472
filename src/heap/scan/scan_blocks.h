/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HEAP_SCAN_BLOCKS_H
#define HEAP_SCAN_BLOCKS_H

#include "heap/heap_scan.h"

/* Finds all blocks, their classes and how many of each state there are; large heaps by two threads.
 * For heap_scan_open(). */
struct error *scan_blocks_read(struct heap_scan *scan) must_check_;

#endif
