/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that are only in the registers of a thread that is in a system call at the end are
 * reachable. */
#include "parked.h"

LEAK_ROLE(in_callee_saved)
LEAK_ROLE(in_argument)
LEAK_ROLE(behind_register)

enum { SAVED = 5, ALL = 7 };

static void *handed[ALL];
static int held;

TRUTH_FRAME static void fill(void)
{
	for (size_t i = 0; i < SAVED; i++) {
		void *block = in_callee_saved(304 + i);
		leak_put(block, 3, behind_register(40));
		leak_put(handed, i, block);
	}
	for (size_t i = SAVED; i < ALL; i++)
		leak_put(handed, i, in_argument(504 + i));
}

TRUTH_FRAME static void *thread(void *unused)
{
	fill();
	leak_scrub();
	void **from = handed;
	int *say = &held, *at = &parked_at;
	__asm__ volatile("mov 0(%%rax), %%rbx\n\t"
			 "mov 8(%%rax), %%r12\n\t"
			 "mov 16(%%rax), %%r13\n\t"
			 "mov 24(%%rax), %%r14\n\t"
			 "mov 32(%%rax), %%r15\n\t"
			 "mov 40(%%rax), %%r8\n\t"
			 "mov 48(%%rax), %%r9\n\t"
			 "movq $0, 0(%%rax)\n\t"
			 "movq $0, 8(%%rax)\n\t"
			 "movq $0, 16(%%rax)\n\t"
			 "movq $0, 24(%%rax)\n\t"
			 "movq $0, 32(%%rax)\n\t"
			 "movq $0, 40(%%rax)\n\t"
			 "movq $0, 48(%%rax)\n\t"
			 "movl $1, (%%rdx)\n\t" PARKED_ASSEMBLY
			 : "+a"(from), "+d"(say), "+D"(at)
			 :
			 : "rbx", "rcx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
			 "r15", "memory", "cc");
	return unused;
}

int main(void)
{
	parked_start(thread, NULL);
	while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		sched_yield();
	LEAKS_ARE(LEAK_REACHABLE, in_callee_saved);
	LEAKS_ARE(LEAK_REACHABLE, in_argument);
	LEAKS_ARE(LEAK_REACHABLE, behind_register);
	leaks_end();
	return 0;
}
