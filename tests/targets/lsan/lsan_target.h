/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that speak to LeakSanitizer, built with it and without: the test compares what it says
 * natively with what heapwise says. Without it the functions are not there, and references to them
 * are weak.
 */
#ifndef TARGETS_LSAN_TARGET_H
#define TARGETS_LSAN_TARGET_H

#include <sanitizer/lsan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma weak __lsan_disable
#pragma weak __lsan_enable
#pragma weak __lsan_ignore_object
#pragma weak __lsan_register_root_region
#pragma weak __lsan_unregister_root_region
#pragma weak __lsan_do_leak_check
#pragma weak __lsan_do_recoverable_leak_check

#define IF_THERE(function, ...)                                                                    \
	do {                                                                                       \
		if (function)                                                                      \
			function(__VA_ARGS__);                                                     \
	} while (0)

/* Sizes are odd, so that a report is recognised by them. */
#define LOST_BYTES 1001

/*
 * Whoever looks at the stack later finds nothing of what functions have left there, nor in the
 * registers: memset() leaves an address, which the dynamic linker puts on the stack at the next
 * call that it binds, at a place that depends on where the stack is.
 */
static __attribute__((noinline)) void scrub(void)
{
	volatile char room[16384];
	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
#ifdef __x86_64__
	__asm__ volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\t"
			 "xor %%esi, %%esi\n\txor %%edi, %%edi\n\txor %%r8d, %%r8d\n\t"
			 "xor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
#endif
}

/* The block is nobody's. */
static __attribute__((noinline)) void lose(size_t bytes)
{
	char *volatile block = (char *)malloc(bytes);
	memset(block, 1, bytes);
	block = NULL;
}

struct target_case {
	const char *name;
	void (*run)(void);
};

/* Does what the first argument names, and returns main's status. */
static int run_case(int argc, char **argv, const struct target_case *cases)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (; cases->name; cases++) {
		if (argc != 2 || strcmp(cases->name, argv[1]))
			continue;
		cases->run();
		scrub();
		printf("main ends\n");
		return 0;
	}
	return 2;
}

#endif
