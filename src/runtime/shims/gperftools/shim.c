/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the library is loaded, and when the program ends. May touch: the profiler.
 *
 * libheapwise-gperftools.so: for programs that heapwise records and that were made for gperftools'
 * heap profiler, on any allocator.
 */
#include <stdlib.h>

#include "runtime/shims/gperftools/profiler.h"

static __attribute__((constructor)) void start_shim(void)
{
	gp_profiler_init();
	atexit(gp_profiler_end);
}
