/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/vec.h"

#include <stdlib.h>

#include "base/pages.h"

#define VEC_FIRST 8u

bool vec_grow(void **data, size_t *cap, size_t want, size_t element_bytes)
{
	size_t bytes, grown = *cap < VEC_FIRST / 2 ? VEC_FIRST : *cap * 2;
	if (grown < want)
		grown = want;
	if (__builtin_mul_overflow(grown, element_bytes, &bytes))
		return false;
	void *moved = realloc(*data, bytes);
	if (!moved)
		return false;
	pages_ask_huge(moved, bytes);
	*data = moved;
	*cap = grown;
	return true;
}
