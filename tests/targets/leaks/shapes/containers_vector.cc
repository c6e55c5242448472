// SPDX-License-Identifier: GPL-2.0-or-later
/* std::vector: its elements are one block that the object holds by its start. Reachable from a
 * static object and from one on the heap; indirect when that one is lost. */
#include "leaks.h"
#include <new>
#include <vector>

LEAK_ROLE_AS(lost_vector, (), sizeof(std::vector<long>), new std::vector<long>())
LEAK_ROLE_AS(kept_vector, (), sizeof(std::vector<long>), new std::vector<long>())
LEAK_COUNTERS(lost_elements)
LEAK_COUNTERS(kept_elements)
LEAK_COUNTERS(static_elements)

static std::vector<long> *volatile kept;
/* Never destroyed. */
alignas(std::vector<long>) static char storage[sizeof(std::vector<long>)];

/* One allocation, in the middle of a function of the library's. */
#define FILL(function)                                                                             \
	TRUTH_LEAF static void function(std::vector<long> *vector, size_t elements)                \
	{                                                                                          \
		vector->reserve(elements);                                                         \
		leak_born(&leak_of_##function, vector->data(), elements * sizeof(long));           \
		vector->resize(elements / 2);                                                      \
	}
FILL(lost_elements)
FILL(kept_elements)
FILL(static_elements)

TRUTH_FRAME static void story()
{
	lost_elements((std::vector<long> *)lost_vector(), 51);
	kept = (std::vector<long> *)kept_vector();
	kept_elements(kept, 53);
	static_elements(new (storage) std::vector<long>(), 55);
}

int main()
{
	story();
	LEAKS_HEAD(lost_vector, lost_elements);
	LEAKS_ARE(LEAK_REACHABLE, kept_vector);
	LEAKS_ARE(LEAK_REACHABLE, kept_elements);
	LEAKS_ARE(LEAK_REACHABLE, static_elements);
	leaks_end();
	return 0;
}
