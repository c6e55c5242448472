/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every form of operator new and delete: plain, array, nothrow, aligned, sized; placement new is
 * none of ours. The bytes asked for count, and the stack starts at the caller of the operator.
 */
#include "truth.h"
#include <new>

static const std::align_val_t LINE{64};

/* Multiples of the alignment where it is given: libstdc++ rounds up what it asks malloc for. */
TRUTH_SITE_AS(site_plain, (size_t bytes), bytes, ::operator new(bytes))
TRUTH_SITE_AS(site_array, (size_t bytes), bytes, ::operator new[](bytes))
TRUTH_SITE_AS(site_nothrow, (size_t bytes), bytes, ::operator new(bytes, std::nothrow))
TRUTH_SITE_AS(site_array_nothrow, (size_t bytes), bytes, ::operator new[](bytes, std::nothrow))
TRUTH_SITE_AS(site_aligned, (size_t bytes), bytes, ::operator new(bytes, LINE))
TRUTH_SITE_AS(site_array_aligned, (size_t bytes), bytes, ::operator new[](bytes, LINE))
TRUTH_SITE_AS(
	site_aligned_nothrow, (size_t bytes), bytes, ::operator new(bytes, LINE, std::nothrow))
TRUTH_SITE_AS(site_array_aligned_nothrow, (size_t bytes), bytes,
	::operator new[](bytes, LINE, std::nothrow))

template <class Delete> static void end(void *block, Delete form)
{
	struct truth_tag tag = truth_tag_of(block);
	truth_died(tag, 0);
	form(block, tag.bytes);
}

struct thing {
	uint64_t numbers[13];
};

int main()
{
	for (size_t i = 0; i < 120; i++) {
		size_t odd = 33 + 2 * i, whole = 64 * (1 + i);
		bool keep = i % 6 == 0;
		void *blocks[] = {site_plain(odd), site_array(odd), site_nothrow(odd),
			site_array_nothrow(odd), site_aligned(whole), site_array_aligned(whole),
			site_aligned_nothrow(whole), site_array_aligned_nothrow(whole)};
		for (size_t form = 4; form < 8; form++)
			truth_need((uintptr_t)blocks[form] % 64 == 0, "alignment");
		if (keep)
			continue;
		end(blocks[0], [](void *p, size_t) { ::operator delete(p); });
		end(blocks[1], [](void *p, size_t bytes) { ::operator delete[](p, bytes); });
		end(blocks[2], [](void *p, size_t bytes) { ::operator delete(p, bytes); });
		end(blocks[3], [](void *p, size_t) { ::operator delete[](p, std::nothrow); });
		end(blocks[4], [](void *p, size_t) { ::operator delete(p, LINE); });
		end(blocks[5], [](void *p, size_t bytes) { ::operator delete[](p, bytes, LINE); });
		end(blocks[6], [](void *p, size_t) { ::operator delete(p, LINE, std::nothrow); });
		end(blocks[7], [](void *p, size_t) { ::operator delete[](p, LINE); });
		/* Placement: a constructor, no allocation. */
		alignas(thing) static char space[sizeof(thing)];
		thing *placed = new (space) thing{};
		TRUTH_STAY();
		placed->~thing();
		::operator delete(nullptr);
	}
	truth_say("# expect: kind site=site_plain kind=operator_new");
	truth_say("# expect: kind site=site_array kind=operator_new[]");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
