// SPDX-License-Identifier: GPL-2.0-or-later
/* A map of vectors of strings, lost and held: all of it follows its one object. */
#include "leaks.h"
#include <map>
#include <string>
#include <vector>

enum { KEYS = 20, STRINGS = 15 };

using nested = std::map<int, std::vector<std::string>>;

LEAK_ROLE_AS(lost_object, (), sizeof(nested), new nested())
LEAK_ROLE_AS(kept_object, (), sizeof(nested), new nested())
LEAK_COUNTERS(lost_parts)
LEAK_COUNTERS(kept_parts)

static nested *volatile kept;

static void count(struct leak_role *role, size_t blocks, size_t bytes)
{
	TRUTH_ADD(role->blocks, blocks);
	TRUTH_ADD(role->bytes, bytes);
}

/* A node of the tree: colour and three pointers, then the pair. Each string is too long for its
 * object. */
static void fill(nested *object, struct leak_role *role)
{
	for (int key = 0; key < KEYS; key++) {
		std::vector<std::string> &strings = (*object)[key];
		count(role, 1, 32 + sizeof(nested::value_type));
		strings.reserve(STRINGS);
		count(role, 1, STRINGS * sizeof(std::string));
		for (size_t i = 0; i < STRINGS; i++) {
			strings.emplace_back(100 + i, 'x');
			count(role, 1, strings.back().capacity() + 1);
		}
	}
}

TRUTH_LEAF static void lost_parts(nested *object)
{
	fill(object, &leak_of_lost_parts);
	TRUTH_STAY();
}

TRUTH_LEAF static void kept_parts(nested *object)
{
	fill(object, &leak_of_kept_parts);
	TRUTH_STAY();
}

TRUTH_FRAME static void story()
{
	lost_parts((nested *)lost_object());
	kept = (nested *)kept_object();
	kept_parts(kept);
}

int main()
{
	story();
	LEAKS_HEAD(lost_object, lost_parts);
	LEAKS_ARE(LEAK_REACHABLE, kept_object);
	LEAKS_ARE(LEAK_REACHABLE, kept_parts);
	leaks_end();
	return 0;
}
