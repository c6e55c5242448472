/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that is loaded on the way and has its thread-local memory beside the program's, in what
 * libc keeps for that (-ftls-model=initial-exec). */
static __thread void *volatile held;

void hold(void *block);

void hold(void *block)
{
	held = block;
}
