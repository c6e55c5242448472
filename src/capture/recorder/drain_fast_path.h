/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CAPTURE_DRAIN_FAST_PATH_H
#define CAPTURE_DRAIN_FAST_PATH_H

#include "capture/recorder/recorder.h"

/*
 * Takes the usual records off the front of a thread's run: allocations at known sites, and frees of
 * known blocks by the function that matches. The live table, the counters and the encoder end up as
 * if each record had been handled by itself. Stops before any other record, before a step that is
 * due to be stamped in the file, and when the chunk is full. Returns the number of words taken.
 */
uint64_t recorder_drain_fast(struct recorder *recorder, uint32_t thread, struct merge_run *run);

#endif
