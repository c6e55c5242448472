/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see state.h. May touch: what it is given.
 *
 * What compilers call where they copy or clear memory; the image has no libc. (Intel SDM, volume 2,
 * REP: the direction flag is clear at a call, AMD64 ABI 1.0, section 3.2.1.)
 */
#include <stddef.h>

void *memset(void *to, int byte, size_t bytes);
void *memcpy(void *to, const void *from, size_t bytes);

void *memset(void *to, int byte, size_t bytes)
{
	void *at = to;
	__asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(byte) : "memory");
	return to;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
	void *at = to;
	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(bytes) : : "memory");
	return to;
}
