/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of libstdc++'s old std::string: length, capacity and a reference count come before the
 * characters, which are what the program holds. Known to be as good as the start, if the words fit
 * the block's size. With an argument there are none of wide characters, which memcheck does not
 * know. */
#include <stdbool.h>

#include "leaks.h"

LEAK_ROLE(held_by_characters)
LEAK_ROLE(wrong_capacity)
LEAK_ROLE(wrong_length)
LEAK_ROLE(held_by_second_character)
LEAK_ROLE(held_by_wide_characters)
LEAK_ROLE(wrong_width)

enum { HEAD = 24, CAPACITY = 230 };

static void *volatile kept[7];

TRUTH_FRAME static char *wide_string(
	void *(*role)(size_t), size_t width, size_t length, size_t capacity)
{
	void *block = role(HEAD + width * (CAPACITY + 1));
	leak_put(block, 0, (void *)length);
	leak_put(block, 1, (void *)capacity);
	return leak_inside(block, HEAD);
}

TRUTH_FRAME static char *string(void *(*role)(size_t), size_t length, size_t capacity)
{
	return wide_string(role, 1, length, capacity);
}

TRUTH_FRAME static void story(bool has_wide)
{
	kept[0] = string(held_by_characters, 100, CAPACITY);
	kept[1] = string(wrong_capacity, 100, CAPACITY - 1);
	kept[2] = string(wrong_length, CAPACITY + 1, CAPACITY);
	kept[3] = string(held_by_second_character, 100, CAPACITY) + 1;
	if (!has_wide)
		return;
	kept[4] = wide_string(held_by_wide_characters, 2, 100, CAPACITY);
	kept[5] = wide_string(held_by_wide_characters, 4, 100, CAPACITY);
	kept[6] = wide_string(wrong_width, 3, 100, CAPACITY);
}

TRUTH_FRAME static void tell(enum leak_kind kind)
{
	LEAKS_ARE(kind, held_by_characters);
	LEAKS_ARE(kind, held_by_wide_characters);
	LEAKS_ARE(LEAK_POSSIBLE, wrong_width);
	LEAKS_ARE(LEAK_POSSIBLE, wrong_capacity);
	LEAKS_ARE(LEAK_POSSIBLE, wrong_length);
	LEAKS_ARE(LEAK_POSSIBLE, held_by_second_character);
}

int main(int argc, char **argv)
{
	(void)argv;
	story(argc == 1);
	tell(LEAK_REACHABLE);
	leaks_with("--leak-check-heuristics=none");
	tell(LEAK_POSSIBLE);
	leaks_with("--leak-check-heuristics=stdstring");
	tell(LEAK_REACHABLE);
	leaks_with("--leak-check-heuristics=length64,newarray,multipleinheritance");
	tell(LEAK_POSSIBLE);
	leaks_end();
	return 0;
}
