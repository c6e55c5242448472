// SPDX-License-Identifier: GPL-2.0-or-later
/* new[] of what has destructors: a word with their number comes first, and the program holds the
 * first element. That is known to be as good as the start; without the heuristic it is an interior
 * pointer. */
#include "leaks.h"

struct element {
	long payload[3];
	element() : payload{1, 2, 3}
	{
	}
	~element()
	{
		payload[0] = 0;
		leak_opaque(payload);
	}
};

LEAK_ROLE_AS(held_by_element, (size_t n), sizeof(long) + n * sizeof(element), new element[n])
LEAK_ROLE_AS(held_by_second, (size_t n), sizeof(long) + n * sizeof(element), new element[n])
LEAK_ROLE_AS(lost_array, (size_t n), sizeof(long) + n * sizeof(element), new element[n])
LEAK_ROLE(behind_element)

static element *volatile kept[2];

TRUTH_FRAME static void story()
{
	kept[0] = (element *)held_by_element(17);
	leak_put(kept[0], 10, behind_element(56));
	kept[1] = (element *)held_by_second(19) + 1;
	lost_array(21);
}

TRUTH_FRAME static void tell(enum leak_kind kind)
{
	LEAKS_ARE(kind, held_by_element);
	LEAKS_ARE(kind, behind_element);
	LEAKS_ARE(LEAK_POSSIBLE, held_by_second);
	LEAKS_ARE(LEAK_DEFINITE, lost_array);
}

int main()
{
	story();
	tell(LEAK_REACHABLE);
	leaks_with("--leak-check-heuristics=none");
	tell(LEAK_POSSIBLE);
	leaks_with("--leak-check-heuristics=newarray");
	tell(LEAK_REACHABLE);
	leaks_with("--leak-check-heuristics=stdstring,length64,multipleinheritance");
	tell(LEAK_POSSIBLE);
	leaks_end();
	return 0;
}
