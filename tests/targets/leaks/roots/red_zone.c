/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A leaf function may keep pointers in the 128 bytes below its stack pointer: blocks held there are
 * reachable, those held just below are lost. */
#include "parked.h"

LEAK_ROLE(at_first_word)
LEAK_ROLE(at_last_word)
LEAK_ROLE(below_zone)

static void *handed[3];
static int held;

TRUTH_FRAME static void fill(void)
{
	leak_put(handed, 0, at_first_word(328));
	leak_put(handed, 1, at_last_word(344));
	leak_put(handed, 2, below_zone(376));
}

/* void leaf(void **handed, int *held, int *futex): a function without a frame. What is further down
 * than 128 bytes it writes while that is part of its stack. */
__asm__(".text\n"
	".type leaf, @function\n"
	"leaf:\n\t"
	".cfi_startproc\n\t"
	"mov 16(%rdi), %rax\n\t"
	"sub $256, %rsp\n\t"
	".cfi_adjust_cfa_offset 256\n\t"
	"mov %rax, 256-136(%rsp)\n\t"
	"add $256, %rsp\n\t"
	".cfi_adjust_cfa_offset -256\n\t"
	"mov 0(%rdi), %rax\n\t"
	"mov %rax, -8(%rsp)\n\t"
	"mov 8(%rdi), %rax\n\t"
	"mov %rax, -128(%rsp)\n\t"
	"movq $0, 0(%rdi)\n\t"
	"movq $0, 8(%rdi)\n\t"
	"movq $0, 16(%rdi)\n\t"
	"movl $1, (%rsi)\n\t"
	"mov %rdx, %rdi\n"
	"1:\n\t"
	"mov $202, %eax\n\t"
	"xor %esi, %esi\n\t"
	"xor %edx, %edx\n\t"
	"xor %r10d, %r10d\n\t"
	"syscall\n\t"
	"jmp 1b\n\t"
	".cfi_endproc\n\t"
	".size leaf, . - leaf\n");
void leaf(void **from, int *say, int *futex);

TRUTH_FRAME static void *thread(void *unused)
{
	fill();
	leak_scrub();
	leaf(handed, &held, &parked_at);
	TRUTH_STAY();
	return unused;
}

int main(void)
{
	parked_start(thread, NULL);
	while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		sched_yield();
	LEAKS_ARE(LEAK_REACHABLE, at_first_word);
	LEAKS_ARE(LEAK_REACHABLE, at_last_word);
	LEAKS_ARE(LEAK_DEFINITE, below_zone);
	leaks_end();
	return 0;
}
