// SPDX-License-Identifier: GPL-2.0-or-later
/* std::string: a long one's characters are a block that the object holds by its start; a short one
 * holds a pointer into itself, which holds nothing else. */
#include "leaks.h"
#include <new>
#include <string>

LEAK_ROLE_AS(lost_string, (), sizeof(std::string), new std::string())
LEAK_ROLE_AS(lost_short_string, (), sizeof(std::string), new std::string("short"))
LEAK_ROLE_AS(kept_string, (), sizeof(std::string), new std::string())
LEAK_COUNTERS(lost_characters)
LEAK_COUNTERS(kept_characters)

static std::string *volatile kept;

#define FILL(function)                                                                             \
	TRUTH_LEAF static void function(std::string *string, size_t characters)                    \
	{                                                                                          \
		string->reserve(characters);                                                       \
		leak_born(&leak_of_##function, &(*string)[0], string->capacity() + 1);             \
		string->append(characters, 'x');                                                   \
	}
FILL(lost_characters)
FILL(kept_characters)

TRUTH_FRAME static void story()
{
	lost_characters((std::string *)lost_string(), 216);
	lost_short_string();
	kept = (std::string *)kept_string();
	kept_characters(kept, 232);
}

int main()
{
	story();
	LEAKS_HEAD(lost_string, lost_characters);
	LEAKS_ARE(LEAK_DEFINITE, lost_short_string);
	LEAKS_ARE(LEAK_REACHABLE, kept_string);
	LEAKS_ARE(LEAK_REACHABLE, kept_characters);
	leaks_end();
	return 0;
}
