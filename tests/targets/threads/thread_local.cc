/* SPDX-License-Identifier: GPL-2.0-or-later */
/* C++ thread_local objects: constructed on first use, destroyed, with allocations, as a thread
 * ends. */
#include "truth.h"
#include <thread>

TRUTH_SITE_AS(site_first_use, (size_t bytes), bytes, ::operator new(bytes))
TRUTH_SITE_AS(site_at_thread_end, (size_t bytes), bytes, ::operator new(bytes))

static void end(void *block)
{
	truth_died(truth_tag_of(block), 0);
	::operator delete(block);
}

struct keeper {
	void *block;
	keeper() : block(site_first_use(641))
	{
	}
	~keeper()
	{
		end(block);
		end(site_at_thread_end(643));
		site_at_thread_end(645);
	}
};

static thread_local keeper one;
static thread_local keeper two;

static void work()
{
	truth_need(one.block != two.block, "two objects");
}

int main()
{
	for (int wave = 0; wave < 10; wave++) {
		std::thread left(work), right(work);
		left.join();
		right.join();
	}
	truth_threads(1 + 20);
	truth_end(TRUTH_PLAIN);
	return 0;
}
