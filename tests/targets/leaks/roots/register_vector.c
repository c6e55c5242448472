/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A block that is only in a vector register of a thread: nobody searches these. Compilers put
 * pointers there to copy several at once, never to keep one over a call. */
#include "parked.h"

LEAK_ROLE(in_vector)

static void *handed[1];
static int held;

TRUTH_FRAME static void fill(void)
{
	leak_put(handed, 0, in_vector(712));
}

TRUTH_FRAME static void *thread(void *unused)
{
	fill();
	leak_scrub();
	void **from = handed;
	int *say = &held, *at = &parked_at;
	__asm__ volatile("movq (%%rax), %%xmm7\n\t"
			 "movq $0, (%%rax)\n\t"
			 "movl $1, (%%rdx)\n\t" PARKED_ASSEMBLY
			 : "+a"(from), "+d"(say), "+D"(at)
			 :
			 : "rcx", "rsi", "r10", "r11", "xmm7", "memory", "cc");
	return unused;
}

int main(void)
{
	parked_start(thread, NULL);
	while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		sched_yield();
	LEAKS_ARE(LEAK_DEFINITE, in_vector);
	leaks_end();
	return 0;
}
