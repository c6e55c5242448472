// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of a deque that has shrunk keeps the addresses of blocks that were freed; one of them
 * has been given out again, and is held by `held` alone. */
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <unistd.h>

struct Record {
	Record *next;
	char rest[504];
};

std::deque<long> numbers;
Record *held;

static void __attribute__((noinline)) clear_stack()
{
	volatile char room[1 << 16];
	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

int main()
{
	for (long i = 0; i < 1000; i++)
		numbers.push_back(i);
	while (numbers.size() > 10)
		numbers.pop_back();
	/* As large as the deque's blocks. */
	for (int i = 0; i < 12; i++) {
		Record *fresh = (Record *)calloc(1, sizeof(Record));
		fresh->next = held;
		held = fresh;
	}
	clear_stack();
	puts("ready");
	fflush(stdout);
	pause();
}
