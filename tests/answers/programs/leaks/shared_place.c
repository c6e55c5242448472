/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One function allocates for eight callers, another for one: most is of one place, not one stack.
 */
#include <stdlib.h>

static void *from_many(size_t size)
{
	void *block = malloc(size);
	return block;
}

static void *from_one(size_t size)
{
	void *block = malloc(size);
	return block;
}

#define CALLER(n)                                                                                  \
	static void *caller_##n(void)                                                              \
	{                                                                                          \
		void *block = from_many(1000);                                                     \
		return block;                                                                      \
	}
CALLER(1)
CALLER(2)
CALLER(3)
CALLER(4)
CALLER(5)
CALLER(6)
CALLER(7)
CALLER(8)

int main(void)
{
	void *(*callers[])(void) = {
		caller_1, caller_2, caller_3, caller_4, caller_5, caller_6, caller_7, caller_8};
	void *volatile last = from_one(2000);
	for (int i = 0; i < 8; i++)
		last = callers[i]();
	return last == NULL;
}
