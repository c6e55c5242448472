/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the library is loaded, and when the program ends. May touch: the profiler.
 *
 * libheapwise-jemalloc.so: for programs that heapwise records and that were made for jemalloc's
 * heap profiler, on any allocator. A library apart from the runtime, since a program that finds
 * mallctl() believes that it runs on jemalloc.
 */
#include <stdlib.h>

#include "runtime/shims/jemalloc/profiler.h"
#include "runtime/shims/jemalloc/texts.h"

static __attribute__((constructor)) void start_shim(void)
{
	if (!je_texts_are_ours())
		return;
	je_profiler_start();
	atexit(je_profiler_end);
}
