/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CAPTURE_RUN_H
#define CAPTURE_RUN_H

#include "capture/recorder/recorder.h"

/*
 * Takes the usual records off the front of a thread's run: allocations at known sites, and frees of
 * known blocks by the function that matches. Live table, books and encoder are what they would be
 * had each record been told by itself. Stops before anything else, before a step that is due to be
 * stamped in the file, and when the chunk is full. Returns the words taken.
 */
uint64_t recorder_run(struct recorder *recorder, uint32_t thread, struct merge_run *run);

#endif
