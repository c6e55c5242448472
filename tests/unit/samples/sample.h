/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that says where it is, for test_symbols: each place prints
 *
 *	ADDRESS NAME:LINE NAME:LINE…
 *
 * the return address of the call there as the ELF file counts it, then the functions around the
 * call, innermost first; all but the last are inlined. Lines come from __LINE__.
 */
#ifndef TESTS_UNIT_SAMPLES_SAMPLE_H
#define TESTS_UNIT_SAMPLES_SAMPLE_H

#include <link.h>
#include <stdint.h>
#include <stdio.h>

#define INLINED static inline __attribute__((always_inline))
#define KEPT __attribute__((noinline, noclone, used))
#ifdef __clang__
#undef KEPT
#define KEPT __attribute__((noinline, used))
#endif

/* The lines of the calls that led here, the outermost first. */
static int sample_lines[8];
static volatile int sample_depth;

/* A call to an inlined function, on one line. */
#define CALL(call) (sample_lines[sample_depth++] = __LINE__, (call), sample_depth--)

static int sample_first_object(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uintptr_t *)bias = info->dlpi_addr;
	return 1; /* the program itself comes first */
}

/* `names`, innermost first, are one more than the lines of the calls. */
__attribute__((noinline)) static void sample_place(const char *const *names, int line)
{
	uintptr_t bias = 0;
	dl_iterate_phdr(sample_first_object, &bias);
	printf("%lx %s:%d", (unsigned long)((uintptr_t)__builtin_return_address(0) - bias),
		names[0], line);
	for (int i = 1; i <= sample_depth; i++)
		printf(" %s:%d", names[i], sample_lines[sample_depth - i]);
	printf("\n");
	fflush(stdout);
}

/* Not the last thing a function does: a jump would leave no address. */
#define PLACE(...)                                                                                 \
	do {                                                                                       \
		static const char *const names_[] = {__VA_ARGS__};                                 \
		sample_place(names_, __LINE__);                                                    \
		__asm__ volatile("");                                                              \
	} while (0)

#endif
