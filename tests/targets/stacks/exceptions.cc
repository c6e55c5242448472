/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exceptions thrown through frames that hold memory: what unwinding frees is freed, what
 * destructors allocate on the way is recorded, and the stacks after it are right.
 */
#include "truth.h"
#include <stdexcept>

TRUTH_SITE(site_held)
TRUTH_SITE(site_in_destructor)
TRUTH_SITE(site_after_catch)

struct holder {
	void *block;
	explicit holder(size_t bytes) : block(site_held(bytes))
	{
	}
	holder(const holder &) = delete;
	holder &operator=(const holder &) = delete;
	~holder()
	{
		truth_free(block);
		truth_free(site_in_destructor(607));
	}
};

extern "C" TRUTH_FRAME void descend(int levels)
{
	holder held(601 + static_cast<size_t>(levels));
	if (levels == 0)
		throw std::runtime_error(
			"a message that is too long to be kept in the object itself");
	descend(levels - 1);
	TRUTH_STAY();
}

extern "C" TRUTH_FRAME void after_catch()
{
	truth_free(site_after_catch(609));
	TRUTH_STAY();
}

int main()
{
	unsigned caught = 0;
	for (int i = 0; i < 100; i++) {
		try {
			descend(i % 40);
		} catch (const std::exception &) {
			caught++;
			after_catch();
		}
	}
	truth_need(caught == 100, "exceptions");
	truth_say("# expect: path site=site_after_catch chain=site_after_catch<after_catch<main");
	truth_say("# expect: path site=site_held chain=site_held<descend<main");
	truth_end(TRUTH_PLAIN);
	return 0;
}
