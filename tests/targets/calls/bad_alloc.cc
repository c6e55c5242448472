/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * operator new that throws, caught, many times over: a bad_alloc flies through the recorder, and
 * the next allocation is recorded like the first.
 */
#include "truth.h"
#include <new>

TRUTH_SITE_AS(site_good, (size_t bytes), bytes, ::operator new(bytes))
TRUTH_COUNTERS(site_thrown)

extern "C" TRUTH_LEAF void site_thrown(size_t bytes)
{
	void *block = ::operator new(bytes);
	truth_need(block == nullptr, "half the address space");
}

extern "C" TRUTH_LEAF void site_thrown_array(size_t bytes)
{
	void *block = ::operator new[](bytes);
	truth_need(block == nullptr, "half the address space");
}

int main()
{
	volatile size_t huge = SIZE_MAX / 2 - 100;
	unsigned caught = 0;
	for (size_t i = 0; i < 300; i++) {
		try {
			if (i % 2)
				site_thrown(huge);
			else
				site_thrown_array(huge);
		} catch (const std::bad_alloc &) {
			caught++;
		}
		void *block = site_good(61 + i);
		if (i % 3) {
			truth_died(truth_tag_of(block), 0);
			::operator delete(block);
		}
	}
	truth_need(caught == 300, "bad_alloc");
	truth_need(!::operator new(huge, std::nothrow), "nothrow threw not, but gave a block");
	truth_say("# expect: totals failed=%u", caught + 1);
	/*
	 * A recorder may ask malloc itself before it lets the C++ library fail, and once more when
	 * the library's new[] calls its new.
	 */
	truth_say("# expect: beside failed<=%u", 2 * (caught + 1));
	truth_end(TRUTH_PLAIN);
	return 0;
}
