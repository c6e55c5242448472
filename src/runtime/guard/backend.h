/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: blocks are guarded, any thread, any moment; around forks. May touch: the pages that it
 * is given; the userfaultfd.
 *
 * How pages become inaccessible without one mapping for each:
 *
 *   madvise   MADV_GUARD_INSTALL (Linux 6.13): marks in the page table; frees the page's memory
 *   uffd      userfaultfd with UFFD_FEATURE_SIGBUS (5.11 without privileges): pages that were not
 *             filled by us are an error; costs nothing for pages that stay so
 *   mprotect  everywhere, but two mappings for each live block: within a budget
 *   none      only what canaries show
 */
#ifndef RUNTIME_GUARD_BACKEND_H
#define RUNTIME_GUARD_BACKEND_H

#include "runtime/guard/guard.h"

/* Chooses the best back-end that works for `pages` pages at `base`, or the one that the settings
 * name; HW_BACKEND_NONE: none works. All pages are PROT_NONE, and none was touched. */
enum hw_check_backend backend_start(uint64_t base, uint64_t pages);

/* Makes pages that were not used before a part of the pool that slots are taken from. */
bool backend_open_pool(uint64_t at, uint64_t pages);

/* Makes `pages` fresh pages accessible, and the page after them not. False: it can't be done; all
 * stay unused then. */
bool backend_give(uint64_t at, uint64_t pages);

/* Makes pages inaccessible again and frees their memory. False: they are as they were. */
bool backend_take(uint64_t at, uint64_t pages);

/* Makes a page that the program has accessed by an error accessible, with zeros. */
bool backend_pass(uint64_t page);

/* Makes it inaccessible again. Its memory stays; so does one mapping of its own, or two. */
void backend_shut(uint64_t page);

/* Fills a page of a live block with zeros that the program has given back to the system, if the
 * system does not do so by itself. Returns whether it can be accessed. */
bool backend_refill(uint64_t page);

/* Whether that is so: the system does not do so by itself. */
bool backend_needs_refill(void);

/* In a forked child, for what is left of the reservation: false: its pages are not guarded any
 * more.
 */
bool backend_fork_child(uint64_t pages);

#endif
