/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TARGETS_IFUNC_LIBRARY_H
#define TARGETS_IFUNC_LIBRARY_H

#include <stdint.h>

/* Called by the resolver of triple(), if set. */
extern void *(*allocate_while_choosing)(void);

uint64_t triple(uint64_t n);

#endif
