/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A new_handler that allocates, frees and in the end gives up by throwing: it runs inside operator
 * new, its allocations are its own, and the one that failed never comes to be.
 */
#include "truth.h"
#include <new>

TRUTH_SITE_AS(site_before, (size_t bytes), bytes, ::operator new(bytes))
TRUTH_SITE(site_in_handler)
TRUTH_COUNTERS(site_wants_too_much)

static unsigned calls;

static void handler()
{
	truth_free(site_in_handler(811));
	site_in_handler(813);
	if (++calls % 3 == 0)
		throw std::bad_alloc();
}

extern "C" TRUTH_LEAF void site_wants_too_much(size_t bytes)
{
	void *block = ::operator new(bytes);
	truth_need(block == nullptr, "half the address space");
}

int main()
{
	volatile size_t huge = SIZE_MAX / 2 - 100;
	std::set_new_handler(handler);
	for (size_t i = 0; i < 40; i++) {
		site_before(815);
		try {
			site_wants_too_much(huge);
		} catch (const std::bad_alloc &) {
			continue;
		}
		truth_need(0, "no bad_alloc");
	}
	truth_need(calls == 3 * 40, "calls of the handler");
	truth_say("# expect: path site=site_in_handler "
		  "chain=site_in_handler<handler()|handler<site_wants_too_much<main");
	/*
	 * Each time malloc says no three times, once more where a recorder asks before it lets the
	 * C++ library fail; whoever counts calls of operator new counts one.
	 */
	truth_say("# expect: totals failed>=%u failed<=%u", 40, 3 * 40);
	truth_say("# expect: beside failed<=%u", 3 * 40);
	truth_end(TRUTH_PLAIN);
	return 0;
}
