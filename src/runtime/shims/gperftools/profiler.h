/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gperftools' heap profiler for a program that heapwise records: the collector has the profile. */
#ifndef RUNTIME_SHIMS_GPERFTOOLS_PROFILER_H
#define RUNTIME_SHIMS_GPERFTOOLS_PROFILER_H

/* As gperftools/heap-profiler.h declares them. */
void HeapProfilerStart(const char *prefix);
int IsHeapProfilerRunning(void);
void HeapProfilerStop(void);
void HeapProfilerDump(const char *reason);
char *GetHeapProfile(void);

/* Starts it if the environment wants that. */
void gp_profiler_init(void);

/* Writes the last profile, if it runs. Once. */
void gp_profiler_end(void);

/* Writes a line to stderr. */
void gp_print(const char *line);

#endif
