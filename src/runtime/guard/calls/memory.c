/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see calls.h. May touch: the same. Functions of memory. */
#include "runtime/guard/calls/calls.h"

#define C char
#define CU unsigned char
#define I int
#define V void
#define M(name) mem##name
#define MP(name) memp##name

REAL(void *, memchr, (const void *, int, size_t))

#include "runtime/guard/calls/memory_of.h"

/* --- those that wide characters don't have --- */

REAL(void *, memrchr, (const void *, int, size_t))
REAL(void *, memccpy, (void *, const void *, int, size_t))
REAL(void *, memmem, (const void *, size_t, const void *, size_t))
REAL(void *, explicit_bzero, (void *, size_t))

/* libc's own names, which compilers and its headers put in place of the others. */
CALL(int, bcmp, const void *a, const void *b, size_t bytes)
{
	PASS_OVER(real_memcmp, a, b, bytes);
	if (rt_unlikely(!real_memcmp || !is_good_move((void *)a, b, bytes)))
		return cmp_units_slowly(a, b, bytes);
	return real_memcmp(a, b, bytes);
}

CALL(void, bcopy, const void *from, void *to, size_t bytes)
{
	if (rt_unlikely(!real_memmove || !is_good_move(to, from, bytes)))
		move_units_slowly(to, from, bytes);
	else
		real_memmove(to, from, bytes);
}

CALL(void, bzero, void *to, size_t bytes)
{
	if (rt_unlikely(!real_memset || bytes > calls_room(to)))
		set_units_slowly(to, 0, bytes);
	else
		real_memset(to, 0, bytes);
}

CALL(void *, __mempcpy, void *to, const void *from, size_t bytes)
{
	PASS_OVER(real_mempcpy, to, from, bytes);
	if (rt_unlikely(!real_mempcpy || !is_good_move(to, from, bytes) ||
			calls_overlap(to, bytes, from, bytes)))
		return pcpy_units_slowly(to, from, bytes);
	return real_mempcpy(to, from, bytes);
}

SLOW void *rchr_slowly(const void *s, int byte, size_t bytes)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		const char *at = s;
		while (bytes-- > 0)
			if (at[bytes] == (char)byte)
				return (void *)(at + bytes);
		return NULL;
	}
	calls_check_read("memrchr", s, bytes, caller);
	return real_memrchr(s, byte, bytes);
}

CALL(void *, memrchr, const void *s, int byte, size_t bytes)
{
	PASS_OVER(real_memrchr, s, byte, bytes);
	if (rt_unlikely(!real_memrchr || bytes > calls_room(s)))
		return rchr_slowly(s, byte, bytes);
	return real_memrchr(s, byte, bytes);
}

/* memccpy reads and writes as far as the byte that it looks for. */
SLOW void *ccpy_slowly(void *to, const void *from, int byte, size_t bytes)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		char *t = to;
		for (const char *f = from; bytes--; f++, t++)
			if ((*t = *f) == (char)byte)
				return t + 1;
		return NULL;
	}
	size_t room = calls_room(from);
	const char *found = real_memchr(from, byte, bytes < room ? bytes : room);
	size_t copied = found ? (size_t)(found - (const char *)from) + 1 : bytes;
	check_copy("memccpy", to, from, copied, caller);
	return real_memccpy(to, from, byte, bytes);
}

CALL(void *, memccpy, void *to, const void *from, int byte, size_t bytes)
{
	PASS_OVER(real_memccpy, to, from, byte, bytes);
	if (rt_unlikely(!real_memccpy || !is_good_move(to, from, bytes) ||
			calls_overlap(to, bytes, from, bytes)))
		return ccpy_slowly(to, from, byte, bytes);
	return real_memccpy(to, from, byte, bytes);
}

/* What is found lies at the beginning of the answer; what is not has been read in full. */
SLOW void *mem_slowly(const void *s, size_t bytes, const void *what, size_t what_bytes)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return NULL;
	calls_check_read("memmem", what, what_bytes, caller);
	size_t room = calls_room(s);
	void *found = real_memmem(s, bytes < room ? bytes : room, what, what_bytes);
	if (found || bytes <= room)
		return found;
	calls_check_read("memmem", s, bytes, caller);
	return real_memmem(s, bytes, what, what_bytes);
}

CALL(void *, memmem, const void *s, size_t bytes, const void *what, size_t what_bytes)
{
	PASS_OVER(real_memmem, s, bytes, what, what_bytes);
	if (rt_unlikely(!real_memmem || bytes > calls_room(s) || what_bytes > calls_room(what)))
		return mem_slowly(s, bytes, what, what_bytes);
	return real_memmem(s, bytes, what, what_bytes);
}

SLOW void clear_slowly(void *to, size_t bytes)
{
	struct guard_caller caller = GUARD_CALLER();
	calls_resolve();
	calls_check_write("explicit_bzero", to, bytes, caller);
	real_explicit_bzero(to, bytes);
}

CALL(void, explicit_bzero, void *to, size_t bytes)
{
	if (rt_unlikely(!real_explicit_bzero || bytes > calls_room(to)))
		clear_slowly(to, bytes);
	else
		real_explicit_bzero(to, bytes);
}

REAL(void *, __explicit_bzero_chk, (void *, size_t, size_t))

SLOW void clear_chk_slowly(void *to, size_t bytes, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	calls_resolve();
	calls_check_write("explicit_bzero", to, bytes, caller);
	real___explicit_bzero_chk(to, bytes, size);
}

CALL(void, __explicit_bzero_chk, void *to, size_t bytes, size_t size)
{
	if (rt_unlikely(!real___explicit_bzero_chk || bytes > calls_room(to)))
		clear_chk_slowly(to, bytes, size);
	else
		real___explicit_bzero_chk(to, bytes, size);
}
