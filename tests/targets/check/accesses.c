/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions that access memory behind a block, each with its own block: what a report says of
 * the access. See wrongs.h; `expect KIND OFFSET after SIZE of BYTES`. The last bytes of a block are
 * the last ones of its page, so that an access may begin inside.
 */
#include "wrongs.h"

#include <stdint.h>

#define SIZE 64u

static char *new_block(void)
{
	char *p = hide(malloc(SIZE));
	for (unsigned i = 0; i < SIZE; i++)
		p[i] = 1;
	return p;
}

/* The instruction has its address in rdi, and may use rax, rcx, rdx, rsi and xmm0. */
#define ACCESS(kind, bytes, at, text)                                                              \
	do {                                                                                       \
		static char other[256];                                                            \
		char *p = new_block() + (good ? 0 : (at)), *copy = p;                              \
		uint64_t a = 1, c = 1, d = 0;                                                      \
		char *s = other;                                                                   \
		if (!good && (at) < (int)SIZE)                                                     \
			printf("expect %s %d inside %u of %d\n", kind, at, SIZE, bytes);           \
		else if (!good)                                                                    \
			printf("expect %s %d after %u of %d\n", kind, (at) - (int)SIZE, SIZE,      \
				bytes);                                                            \
		fflush(stdout);                                                                    \
		__asm__ volatile(text                                                              \
				 : "+D"(p), "+a"(a), "+c"(c), "+d"(d), "+S"(s)                     \
				 :                                                                 \
				 : "memory", "xmm0", "cc");                                        \
		free(copy - (good ? 0 : (at)));                                                    \
	} while (0)

static void sizes(bool good)
{
	ACCESS("InvalidRead", 1, 64, "movb (%%rdi), %%al");
	ACCESS("InvalidRead", 2, 63, "movw (%%rdi), %%ax");
	ACCESS("InvalidRead", 4, 61, "movl (%%rdi), %%eax");
	ACCESS("InvalidRead", 8, 57, "movq (%%rdi), %%rax");
	ACCESS("InvalidRead", 16, 60, "movups (%%rdi), %%xmm0");
	ACCESS("InvalidRead", 8, 64, "movsd (%%rdi), %%xmm0");
	ACCESS("InvalidRead", 4, 68, "cmpl $5, (%%rdi)");
	ACCESS("InvalidRead", 1, 64, "movzbl (%%rdi), %%eax");
	ACCESS("InvalidRead", 10, 60, "fldt (%%rdi)\n\tfstp %%st(0)");
	ACCESS("InvalidRead", 1, 64, "xchg %%rdi, %%rsi\n\trep movsb\n\txchg %%rdi, %%rsi");
	ACCESS("InvalidWrite", 1, 65, "movb $1, (%%rdi)");
	ACCESS("InvalidWrite", 8, 57, "movq $1, (%%rdi)");
	ACCESS("InvalidWrite", 16, 64, "movups %%xmm0, (%%rdi)");
	ACCESS("InvalidWrite", 4, 64, "fld1\n\tfstps (%%rdi)");
	ACCESS("InvalidWrite", 8, 64, "stosq");
	/* What is read and written is a write, as the processor says. */
	ACCESS("InvalidWrite", 4, 64, "lock incl (%%rdi)");
	ACCESS("InvalidWrite", 2, 63, "addw $1, (%%rdi)");
	ACCESS("InvalidWrite", 8, 64, "lock cmpxchgq %%rdx, (%%rdi)");
	puts("done");
}

int main(int argc, char **argv)
{
	static const struct story stories[] = {{"sizes", sizes}, {NULL, NULL}};
	return tell_story(argc, argv, stories);
}
