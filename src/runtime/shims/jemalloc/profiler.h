/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * jemalloc's heap profiler, as far as programs see it: its state is here, what it does is done by
 * the collector of the recording, which is asked through heapwise_rt_request(). Functions are
 * called by any thread, but not in a signal handler.
 */
#ifndef RUNTIME_SHIMS_JEMALLOC_PROFILER_H
#define RUNTIME_SHIMS_JEMALLOC_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/shims/jemalloc_conf.h"

/* The options, which nothing changes after the start. `prof` is false in a process that is not
 * recorded. */
extern struct je_conf je_conf;

/* Reads the options; if the profiler is on, has the collector write the dumps that they want. Says
 * what is wrong with them, unless a real jemalloc in the process does. */
void je_profiler_start(void);
/* As jemalloc's exit handler: the last dump, the leak summary. May end the process. */
void je_profiler_end(void);

bool je_profiler_active(void);
bool je_profiler_gdump(void);
uint64_t je_profiler_lg_sample(void);
/* Bytes between two dumps; 0: there are none for that reason. */
uint64_t je_profiler_interval(void);

/* These return 0 or an errno as jemalloc's mallctl() does. */
int je_profiler_set_active(bool is_active);
int je_profiler_set_gdump(bool gdump);
int je_profiler_set_prefix(const char *prefix);
/* lg_sample: over 63 is 63. */
int je_profiler_reset(uint64_t lg_sample);
/* Returns when the file is complete. `file` NULL: the next one for that, PREFIX.PID.SEQ.mN.heap. */
int je_profiler_dump(const char *file);

/* Whether this thread's allocations are recorded. */
bool je_profiler_thread_active(void);
int je_profiler_set_thread_active(bool is_active);

#endif
