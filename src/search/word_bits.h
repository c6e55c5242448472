/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which words can't be addresses: computed for several words at a time, since every word of a heap
 * is examined. */
#ifndef SEARCH_WORD_BITS_H
#define SEARCH_WORD_BITS_H

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define WORD_BITS 64u

/* Bit i is of word i. */
struct word_bits {
	uint64_t nulls; /* it is 0 */
	uint64_t small; /* it is below 2^48, as addresses of user space are */
};

/* Returns word `number` of `bytes`, which need not be aligned. */
static inline uint64_t word_number(const uint8_t *bytes, unsigned number)
{
	uint64_t word;
	memcpy(&word, bytes + 8ul * number, 8);
	return word;
}

/* Returns the bits of the `count` words at `bytes`, at most WORD_BITS, which need not be aligned.
 */
static inline struct word_bits word_bits_of(const uint8_t *bytes, unsigned count)
{
	struct word_bits bits = {0, 0};
	unsigned i = 0;
#ifdef __SSE2__
	const __m128i zero = _mm_setzero_si128();
	for (; i + 4 <= count; i += 4) {
		__m128 first = _mm_loadu_ps((const float *)(const void *)(bytes + 8ul * i));
		__m128 second = _mm_loadu_ps((const float *)(const void *)(bytes + 8ul * i + 16));
		/* The halves of four words. */
		__m128i low = _mm_castps_si128(_mm_shuffle_ps(first, second, 0x88));
		__m128i high = _mm_castps_si128(_mm_shuffle_ps(first, second, 0xdd));
		__m128i nulls = _mm_cmpeq_epi32(_mm_or_si128(low, high), zero);
		__m128i small = _mm_cmpeq_epi32(_mm_srli_epi32(high, 16), zero);
		bits.nulls |= (uint64_t)_mm_movemask_ps(_mm_castsi128_ps(nulls)) << i;
		bits.small |= (uint64_t)_mm_movemask_ps(_mm_castsi128_ps(small)) << i;
	}
#endif
	for (; i < count; i++) {
		uint64_t word = word_number(bytes, i);
		bits.nulls |= (uint64_t)!word << i;
		bits.small |= (uint64_t) !(word >> 48) << i;
	}
	return bits;
}

#endif
