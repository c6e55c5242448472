/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that holds what it is given: in its data, its zeroed data, and memory of the thread
 * that calls. */
#include <stddef.h>

void hold_in_data(void *block);
void hold_in_bss(void *block);
void hold_in_thread(void *block);
void hold_inside(void *block);

static void *volatile in_data[3] = {(void *)&in_data[1], NULL, NULL};
static void *volatile in_bss[1000];
static void *volatile inside;
/* Larger than what the loader has put aside for libraries that come later. */
static __thread void *volatile in_thread[4096];

void hold_in_data(void *block)
{
	in_data[2] = block;
}

void hold_in_bss(void *block)
{
	in_bss[777] = block;
}

void hold_in_thread(void *block)
{
	in_thread[2345] = block;
}

void hold_inside(void *block)
{
	inside = (char *)block + 8;
}
