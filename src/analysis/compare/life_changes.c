/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/life_changes.h"

#include "analysis/diff.h"

static void add_all(const struct life_count *counts, struct life_count *ret)
{
	for (unsigned i = 0; i < LIFE_BUCKETS; i++) {
		ret->freed_blocks += counts[i].freed_blocks;
		ret->freed_bytes += counts[i].freed_bytes;
		ret->live_blocks += counts[i].live_blocks;
		ret->live_bytes += counts[i].live_bytes;
	}
}

static void life_changes_normalize(struct life_count *counts, const struct life_count *newer)
{
	struct life_count from = {0}, to = {0};
	add_all(counts, &from);
	add_all(newer, &to);
	for (unsigned i = 0; i < LIFE_BUCKETS; i++) {
		struct life_count *count = &counts[i];
#define SCALE(member) count->member = diff_scaled(count->member, to.member, from.member)
		SCALE(freed_blocks);
		SCALE(freed_bytes);
		SCALE(live_blocks);
		SCALE(live_bytes);
#undef SCALE
	}
}

void lifetimes_as_base(const struct lifetimes *older, const struct lifetimes *newer,
	bool normalized, struct lifetimes *ret)
{
	*ret = *older;
	if (!normalized)
		return;
	life_changes_normalize(ret->by_time, newer->by_time);
	life_changes_normalize(ret->by_others, newer->by_others);
}
