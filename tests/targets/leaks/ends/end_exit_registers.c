/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exit() called with pointers in registers that a function must preserve: they are the caller's
 * until the end. */
#include "leaks.h"

LEAK_ROLE(in_register)
LEAK_ROLE(behind_register)

enum { REGISTERS = 5 };

static void *handed[REGISTERS];

TRUTH_FRAME static void fill(void)
{
	for (size_t i = 0; i < REGISTERS; i++) {
		void *block = in_register(304 + i);
		leak_put(block, 3, behind_register(40));
		leak_put(handed, i, block);
	}
}

TRUTH_FRAME static void leave(void (*end)(int))
{
	void **from = handed;
	__asm__ volatile("and $-16, %%rsp\n\t"
			 "mov 0(%%rax), %%rbx\n\t"
			 "mov 8(%%rax), %%r12\n\t"
			 "mov 16(%%rax), %%r13\n\t"
			 "mov 24(%%rax), %%r14\n\t"
			 "mov 32(%%rax), %%r15\n\t"
			 "movq $0, 0(%%rax)\n\t"
			 "movq $0, 8(%%rax)\n\t"
			 "movq $0, 16(%%rax)\n\t"
			 "movq $0, 24(%%rax)\n\t"
			 "movq $0, 32(%%rax)\n\t"
			 "xor %%edi, %%edi\n\t"
			 "call *%%rdx\n\t"
			 "ud2"
			 : "+a"(from), "+d"(end)
			 :
			 : "rbx", "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
			 "r14", "r15", "memory", "cc");
	__builtin_unreachable();
}

int main(void)
{
	fill();
	LEAKS_ARE(LEAK_REACHABLE, in_register);
	LEAKS_ARE(LEAK_REACHABLE, behind_register);
	leaks_end();
	leave(exit);
	return 1;
}
