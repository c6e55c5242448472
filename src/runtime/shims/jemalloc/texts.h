/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where jemalloc's options stand in this process, and whether there is a real jemalloc in it. */
#ifndef RUNTIME_SHIMS_JEMALLOC_TEXTS_H
#define RUNTIME_SHIMS_JEMALLOC_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/shims/jemalloc_conf.h"

typedef int je_mallctl_function(const char *, void *, size_t *, void *, size_t);
typedef int je_nametomib_function(const char *, size_t *, size_t *);
typedef int je_bymib_function(const size_t *, size_t, void *, size_t *, void *, size_t);
typedef void je_stats_print_function(void (*)(void *, const char *), void *, const char *);

/* The functions of a jemalloc that is loaded after this library; NULL: there is none. */
struct je_real {
	je_mallctl_function *mallctl;
	je_nametomib_function *nametomib;
	je_bymib_function *bymib;
	je_stats_print_function *stats_print;
};

/* Looks them up, the first time. Not from an allocation: the loader allocates. */
const struct je_real *je_real_find(void);

/* Whether programs that call mallctl() reach this library: a program that has a jemalloc linked in
 * reaches that one, and this library leaves all to it. */
bool je_texts_are_ours(void);

/* Collects the texts. `buffer`: what some of them are kept in. */
void je_texts_collect(char buffer[PATH_MAX + 1], struct je_conf_texts *ret);

#endif
