/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of all that other tools name in their own ways: operators, recursion, a thread, what
 * libstdc++ keeps for itself. */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <pthread.h>
#include <string>

static void *volatile kept[16];

__attribute__((noinline)) static void nest(int depth)
{
	kept[depth] = malloc(17);
	if (depth)
		nest(depth - 1);
}

static void *work(void *)
{
	kept[8] = malloc(313);
	kept[9] = new char[77];
	return nullptr;
}

int main()
{
	pthread_t thread;
	nest(3);
	kept[4] = new (std::nothrow) int[5];
	kept[5] = new std::string(99, 'x');
	kept[6] = calloc(3, 111);
	kept[7] = realloc(malloc(10), 301);
	if (pthread_create(&thread, nullptr, work, nullptr) || pthread_join(thread, nullptr))
		return 1;
	puts("# expect: the same in each form");
	return 0;
}
