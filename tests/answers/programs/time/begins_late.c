/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For a third of a second 100 bytes now and then; at its very end 5,000 of another place. */
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static void *early(void)
{
	void *block = malloc(100);
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

__attribute__((noinline)) static void *late(void)
{
	void *block = malloc(5000);
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

int main(void)
{
	for (int i = 0; i < 150; i++) {
		early();
		nanosleep(&(struct timespec){0, 2000000}, NULL);
	}
	late();
	_Exit(0);
}
