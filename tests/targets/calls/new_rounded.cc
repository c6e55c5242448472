/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where libstdc++ asks malloc for more than the program asked for (no bytes; an aligned size that
 * is no multiple), the recording says what the program asked for; a preload behind it sees the
 * rest.
 */
#include "truth.h"
#include <malloc.h>
#include <new>

static const std::align_val_t LINE{64};

TRUTH_COUNTERS(site_nothing)
TRUTH_SITE_AS(site_odd_aligned, (size_t bytes), bytes, ::operator new(bytes, LINE))

extern "C" TRUTH_LEAF struct truth_tag site_nothing(volatile size_t none)
{
	void *block = ::operator new(none);
	return truth_count(&truth_of_site_nothing, block, 0);
}

int main()
{
	uint64_t beside = 0;
	for (size_t i = 0; i < 50; i++) {
		struct truth_tag tag = site_nothing(0);
		beside += 1;
		truth_died(tag, 0);
		::operator delete(tag.block);
		site_odd_aligned(65 + i);
		beside += 128 - (65 + i);
	}
	truth_say("# expect: beside allocated_bytes<=%lu", (unsigned long)beside);
	truth_end(TRUTH_TEMPORARY);
	return 0;
}
