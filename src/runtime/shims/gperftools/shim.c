/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the library is loaded, and when the program ends. May touch: the profiler, the
 * leak checker.
 *
 * libheapwise-gperftools.so: for programs that heapwise records and that were made for gperftools'
 * heap profiler and leak checker, on any allocator.
 */
#include <stdlib.h>

#include "runtime/shims/gperftools/leak_checker.h"
#include "runtime/shims/gperftools/profiler.h"

static __attribute__((constructor)) void start_shim(void)
{
	gp_profiler_init();
	gp_checker_init();
	atexit(gp_profiler_end);
	atexit(gp_checker_end);
}
