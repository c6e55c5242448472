/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: a report is written to stderr, any thread, any moment. May touch: what it is given.
 *
 * A line of text. What is too long is cut.
 */
#ifndef RUNTIME_GUARD_TEXT_H
#define RUNTIME_GUARD_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct guard_text {
	size_t used;
	char bytes[400];
};

static inline void text_add(struct guard_text *t, const char *words)
{
	for (; *words && t->used < sizeof(t->bytes); words++)
		t->bytes[t->used++] = *words;
}

static inline void text_add_in(struct guard_text *t, uint64_t n, unsigned base)
{
	char digits[24], *at = digits + sizeof(digits);
	*--at = 0;
	do
		*--at = "0123456789abcdef"[n % base];
	while (n /= base);
	text_add(t, at);
}

static inline void text_add_number(struct guard_text *t, uint64_t n)
{
	text_add_in(t, n, 10);
}

static inline void text_add_hex(struct guard_text *t, uint64_t n)
{
	text_add_in(t, n, 16);
}

#endif
