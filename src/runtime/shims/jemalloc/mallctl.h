/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* jemalloc's functions for programs, as its jemalloc/jemalloc.h declares them. */
#ifndef RUNTIME_SHIMS_JEMALLOC_MALLCTL_H
#define RUNTIME_SHIMS_JEMALLOC_MALLCTL_H

#include <stddef.h>

/* The functions of these names that programs reach; see je_texts_are_ours(). */
int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp);
int mallctlbymib(
	const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
void malloc_stats_print(void (*write_cb)(void *, const char *), void *cbopaque, const char *opts);

/* This library's own. */
int je_mallctl_inner(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);

#endif
