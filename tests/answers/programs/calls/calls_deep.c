/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hundred calls deep two functions allocate: one 2 % of it, one the rest. */
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) static void narrow_function(void)
{
	kept = malloc(20);
}

__attribute__((noinline)) static void wide_function(void)
{
	kept = malloc(980);
}

__attribute__((noinline)) static void deeper(int left)
{
	if (left)
		deeper(left - 1);
	else {
		narrow_function();
		wide_function();
	}
	kept = NULL; /* no tail call */
}

int main(void)
{
	deeper(99);
	return 0;
}
