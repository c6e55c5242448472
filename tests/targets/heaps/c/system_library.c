/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thread-local memory that is too large for what threads have at hand. */
static __thread char memory[10000];

void *thread_memory(void);

void *thread_memory(void)
{
	memory[0] = 1;
	return memory;
}
