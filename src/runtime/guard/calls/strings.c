/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see calls.h. May touch: the same. Functions of strings of char. */
#include "runtime/guard/calls/calls.h"

#define C char
#define CU unsigned char
#define I int
#define S(name) str##name
#define P(name) stp##name

REAL(void *, memchr, (const void *, int, size_t))

static const char *find_character(const char *s, char c, size_t bytes)
{
	return real_memchr(s, c, bytes);
}

#include "runtime/guard/calls/strings_of.h"

/* --- those that wide characters don't have --- */

REAL(char *, strchrnul, (const char *, int))
REAL(void *, rawmemchr, (const void *, int))
REAL(char *, strndup, (const char *, size_t))
REAL(int, puts, (const char *))
REAL(int, fputs, (const char *, void *))

SLOW char *chrnul_slowly(const char *s, int c)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		for (; *s && *s != (char)c; s++)
			CALLS_STAY_LOOP();
		return (char *)s;
	}
	size_t room = calls_room(s);
	if (room < CALLS_ANY && !find_in_room(s, (char)c, room))
		calls_report_endless("strchrnul", s + room, caller);
	return real_strchrnul(s, c);
}

CALL(char *, strchrnul, const char *s, int c)
{
	size_t room = calls_room(s);
	if (rt_unlikely(!real_strchrnul))
		return chrnul_slowly(s, c);
	if (rt_likely(room == CALLS_ANY))
		return real_strchrnul(s, c);
	const char *found = find_in_room(s, (char)c, room);
	return rt_likely(found) ? (char *)found : chrnul_slowly(s, c);
}

CALL(char *, index, const char *s, int c)
{
	PASS_OVER(real_strchr, s, c);
	if (rt_unlikely(!real_strchr || calls_room(s) != CALLS_ANY))
		return chr_slowly(s, c);
	return real_strchr(s, c);
}

CALL(char *, rindex, const char *s, int c)
{
	PASS_OVER(real_strrchr, s, c);
	size_t n;
	if (rt_unlikely(!real_strrchr || (calls_room(s) != CALLS_ANY && !measure_string(s, &n))))
		return rchr_slowly(s, c);
	return real_strrchr(s, c);
}

SLOW void *rawmemchr_slowly(const char *s, int c)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		for (; *s != (char)c; s++)
			CALLS_STAY_LOOP();
		return (void *)s;
	}
	size_t room = calls_room(s);
	if (room < CALLS_ANY && !real_memchr(s, c, room))
		calls_report_endless("rawmemchr", s + room, caller);
	return real_rawmemchr(s, c);
}

CALL(void *, rawmemchr, const void *s, int c)
{
	PASS_OVER(real_rawmemchr, s, c);
	if (rt_unlikely(!real_rawmemchr || calls_room(s) != CALLS_ANY))
		return rawmemchr_slowly(s, c);
	return real_rawmemchr(s, c);
}

SLOW char *ndup_slowly(const char *s, size_t most)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return NULL;
	measure_slowly("strndup", s, most, caller);
	return real_strndup(s, most);
}

CALL(char *, strndup, const char *s, size_t most)
{
	PASS_OVER(real_strndup, s, most);
	if (rt_unlikely(!real_strndup || most > calls_room(s)))
		return ndup_slowly(s, most);
	return real_strndup(s, most);
}

/* libc's own names, which its headers put in place of the others. */
CALL(char *, __strdup, const char *s)
{
	PASS_OVER(real_strdup, s);
	size_t n;
	if (rt_unlikely(!real_strdup || (calls_room(s) != CALLS_ANY && !measure_string(s, &n))))
		return dup_slowly(s);
	return real_strdup(s);
}

CALL(char *, __strndup, const char *s, size_t most)
{
	PASS_OVER(real_strndup, s, most);
	if (rt_unlikely(!real_strndup || most > calls_room(s)))
		return ndup_slowly(s, most);
	return real_strndup(s, most);
}

CALL(char *, __stpcpy, char *to, const char *from)
{
	PASS_OVER(real_stpcpy, to, from);
	size_t n;
	if (rt_unlikely(!real_stpcpy || !measure_string(from, &n) ||
			!is_good_copy(to, 0, from, n + 1, n + 1)))
		return pcpy_slowly(to, from);
	return real_stpcpy(to, from);
}

/* --- of strings that are written to files --- */

SLOW int puts_slowly(const char *s)
{
	struct guard_caller caller = GUARD_CALLER();
	calls_resolve();
	measure_slowly("puts", s, SIZE_MAX, caller);
	return real_puts(s);
}

CALL(int, puts, const char *s)
{
	PASS_OVER(real_puts, s);
	size_t n;
	if (rt_unlikely(!real_puts || (calls_room(s) != CALLS_ANY && !measure_string(s, &n))))
		return puts_slowly(s);
	return real_puts(s);
}

SLOW int fputs_slowly(const char *s, void *file)
{
	struct guard_caller caller = GUARD_CALLER();
	calls_resolve();
	measure_slowly("fputs", s, SIZE_MAX, caller);
	return real_fputs(s, file);
}

CALL(int, fputs, const char *s, void *file)
{
	PASS_OVER(real_fputs, s, file);
	size_t n;
	if (rt_unlikely(!real_fputs || (calls_room(s) != CALLS_ANY && !measure_string(s, &n))))
		return fputs_slowly(s, file);
	return real_fputs(s, file);
}
