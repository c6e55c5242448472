/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a leak search found to be lost, of each row. */
#ifndef PAGE_LOST_H
#define PAGE_LOST_H

#include "analysis/profile.h"
#include "base/error.h"

struct page_lost {
	uint64_t blocks, bytes; /* definitely and indirectly lost ones; suppressed ones, too */
};

/*
 * Sets *ret to an array that the caller frees, of each row of the profile; or to NULL if it isn't
 * known: there was no search, only some of it is here, or rows are filtered.
 */
struct error *page_lost_build(const struct profile *profile, struct page_lost **ret) must_check_;

#endif
