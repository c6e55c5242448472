// SPDX-License-Identifier: GPL-2.0-or-later
/* std::shared_ptr: the object's own block is held by its start; one that std::make_shared laid
 * behind its counters is held by its start too, by the pointer to the counters. Two that hold each
 * other and that nobody else holds are lost. */
#include "leaks.h"
#include <memory>
#include <new>

struct part {
	long payload[9];
	std::shared_ptr<part> other;
};

/* What make_shared allocates: counters, then the object. */
enum { COUNTERS = 16, COUNTERS_AND_POINTER = 24 };

LEAK_ROLE_AS(kept_part, (), sizeof(part), new part())
LEAK_COUNTERS(kept_counters)
LEAK_COUNTERS(kept_together)
LEAK_COUNTERS(lost_cycle)

alignas(std::shared_ptr<part>) static char storage[2][sizeof(std::shared_ptr<part>)];

TRUTH_LEAF static void kept_counters(void *block)
{
	new (storage[0]) std::shared_ptr<part>((part *)block);
	leak_born(&leak_of_kept_counters, block, COUNTERS_AND_POINTER);
}

TRUTH_LEAF static void kept_together()
{
	new (storage[1]) std::shared_ptr<part>(std::make_shared<part>());
	leak_born(&leak_of_kept_together, storage, COUNTERS + sizeof(part));
}

TRUTH_LEAF static void lost_cycle()
{
	auto one = std::make_shared<part>(), two = std::make_shared<part>();
	leak_born(&leak_of_lost_cycle, storage, COUNTERS + sizeof(part));
	leak_born(&leak_of_lost_cycle, storage, COUNTERS + sizeof(part));
	one->other = two;
	two->other = one;
}

TRUTH_FRAME static void story()
{
	kept_counters(kept_part());
	kept_together();
	lost_cycle();
}

int main()
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, kept_part);
	LEAKS_ARE(LEAK_REACHABLE, kept_counters);
	LEAKS_ARE(LEAK_REACHABLE, kept_together);
	LEAKS_LED(lost_cycle, 1, COUNTERS + sizeof(part), NULL);
	leaks_end();
	return 0;
}
