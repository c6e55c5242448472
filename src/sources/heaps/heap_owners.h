/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a heap hangs on which global, stack or mapping, as sites of a model. */
#ifndef SOURCES_HEAP_OWNERS_H
#define SOURCES_HEAP_OWNERS_H

#include "heap/heap_scan.h"
#include "sources/foreign/foreign.h"

/*
 * Adds a site for each owner, with the blocks that nothing else holds; its only frame is called as
 * the owner is, in the same way in each process: "global cache [app]", "stack of the first thread".
 * What several hold together, and what nothing holds, are sites, too. The scan is typed.
 */
struct error *heap_owners_put(const struct heap_scan *scan, struct foreign *foreign) must_check_;

#endif
