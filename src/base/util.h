/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <stdbool.h>
#include <stdint.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The counter gives nested uses names of their own. */
#define util_pick_2(a, b, op, n)                                                                   \
	({                                                                                         \
		__auto_type a_##n = (a);                                                           \
		__auto_type b_##n = (b);                                                           \
		_Static_assert(__builtin_types_compatible_p(__typeof__(a_##n), __typeof__(b_##n)), \
			"both of one type");                                                       \
		a_##n op b_##n ? a_##n : b_##n;                                                    \
	})
#define util_pick_1(a, b, op, n) util_pick_2(a, b, op, n)

/* Evaluate each argument once; both must have the same type. */
#define min(a, b) util_pick_1(a, b, <, __COUNTER__)
#define max(a, b) util_pick_1(a, b, >, __COUNTER__)

static inline bool is_pow2(uint64_t value)
{
	return value && (value & (value - 1)) == 0;
}

/* Returns the next multiple of `align`, a power of two; wraps to 0 beyond the last one. */
static inline uint64_t align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}

/*
 * Asks the processor to fetch what is there. Not __builtin_prefetch(): a function that does
 * nothing else has no effect in gcc's eyes (12.2), and calls of it that are not inlined early
 * enough are left out, without a word.
 */
static inline void prefetch(const void *at)
{
	__asm__ volatile("prefetcht0 %0" : : "m"(*(const char *)at));
}

#endif
