/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see calls.h. May touch: the same. Functions of strings and memory of wchar_t. */
#include "runtime/guard/calls/calls.h"

#define C wchar_t
#define CU wchar_t
#define I wchar_t
#define S(name) wcs##name
#define P(name) wcp##name

REAL(wchar_t *, wmemchr, (const wchar_t *, wchar_t, size_t))

static const wchar_t *find_character(const wchar_t *s, wchar_t c, size_t count)
{
	return real_wmemchr(s, c, count);
}

#include "runtime/guard/calls/strings_of.h"

#define V wchar_t
#define M(name) wmem##name
#define MP(name) wmemp##name

#include "runtime/guard/calls/memory_of.h"
