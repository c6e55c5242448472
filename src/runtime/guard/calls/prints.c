/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see calls.h. May touch: the same.
 *
 * Text that is printed to memory. How long it becomes, printing it tells: into a block whose room
 * is less than the function may use, it is first printed as far as the room goes.
 */
#include "runtime/guard/calls/calls.h"

#include <stdarg.h>

REAL(int, vsprintf, (char *, const char *, va_list))
REAL(int, vsnprintf, (char *, size_t, const char *, va_list))
REAL(int, __vsprintf_chk, (char *, int, size_t, const char *, va_list))
REAL(int, __vsnprintf_chk, (char *, size_t, int, size_t, const char *, va_list))

/* What the functions have in common: */
struct print {
	const char *name;
	char *to;
	size_t most; /* that may be written, with the NUL */
	bool bounded, fortified;
	int flag;    /* of fortified ones, with */
	size_t size; /* what the compiler knows of `to` */
	const char *format;
	struct guard_caller caller;
};

static int print_really(const struct print *p, va_list list)
{
	if (p->fortified)
		return p->bounded ? real___vsnprintf_chk(
					    p->to, p->most, p->flag, p->size, p->format, list)
				  : real___vsprintf_chk(p->to, p->flag, p->size, p->format, list);
	return p->bounded ? real_vsnprintf(p->to, p->most, p->format, list)
			  : real_vsprintf(p->to, p->format, list);
}

/* Prints as far as there is room. Returns the length of the whole text. */
static int print_in_room(const struct print *p, uint64_t room, va_list list)
{
	va_list copy;
	va_copy(copy, list);
	int length = p->fortified
			     ? real___vsnprintf_chk(p->to, room, p->flag, SIZE_MAX, p->format, copy)
			     : real_vsnprintf(p->to, room, p->format, copy);
	va_end(copy);
	return length;
}

/* Of a destination that may be smaller than the text: whether it is fine as it is. */
static bool is_printed(const struct print *p, uint64_t room, va_list list, int *ret)
{
	int length = print_in_room(p, room, list);
	uint64_t written = (uint64_t)length + 1;
	if (length >= 0 && written > p->most)
		written = p->most;
	if (length < 0 || written <= room) {
		*ret = length;
		return written <= room && (uint64_t)length < room;
	}
	calls_check_write(p->name, p->to, written, p->caller);
	return false;
}

static int print_checked(const struct print *p, va_list list)
{
	int length;
	calls_resolve();
	uint64_t room = calls_room(p->to);
	if (rt_unlikely(room < CALLS_ANY && p->most > room) && is_printed(p, room, list, &length))
		return length;
	return print_really(p, list);
}

CALL(int, vsprintf, char *to, const char *format, va_list list)
{
	struct print p = {.name = "vsprintf",
		.to = to,
		.most = SIZE_MAX,
		.format = format,
		.caller = GUARD_CALLER()};
	return print_checked(&p, list);
}

CALL(int, vsnprintf, char *to, size_t most, const char *format, va_list list)
{
	struct print p = {.name = "vsnprintf",
		.to = to,
		.most = most,
		.bounded = true,
		.format = format,
		.caller = GUARD_CALLER()};
	return print_checked(&p, list);
}

CALL(int, __vsprintf_chk, char *to, int flag, size_t size, const char *format, va_list list)
{
	struct print p = {.name = "vsprintf",
		.to = to,
		.most = SIZE_MAX,
		.fortified = true,
		.flag = flag,
		.size = size,
		.format = format,
		.caller = GUARD_CALLER()};
	return print_checked(&p, list);
}

CALL(int, __vsnprintf_chk, char *to, size_t most, int flag, size_t size, const char *format,
	va_list list)
{
	struct print p = {.name = "vsnprintf",
		.to = to,
		.most = most,
		.bounded = true,
		.fortified = true,
		.flag = flag,
		.size = size,
		.format = format,
		.caller = GUARD_CALLER()};
	return print_checked(&p, list);
}

/* As the functions above, with the arguments themselves. */
#define PRINT_LISTED(p)                                                                            \
	({                                                                                         \
		va_list list;                                                                      \
		va_start(list, format);                                                            \
		int length = print_checked(p, list);                                               \
		va_end(list);                                                                      \
		length;                                                                            \
	})

CALL(int, sprintf, char *to, const char *format, ...)
{
	struct print p = {.name = "sprintf",
		.to = to,
		.most = SIZE_MAX,
		.format = format,
		.caller = GUARD_CALLER()};
	return PRINT_LISTED(&p);
}

CALL(int, snprintf, char *to, size_t most, const char *format, ...)
{
	struct print p = {.name = "snprintf",
		.to = to,
		.most = most,
		.bounded = true,
		.format = format,
		.caller = GUARD_CALLER()};
	return PRINT_LISTED(&p);
}

CALL(int, __sprintf_chk, char *to, int flag, size_t size, const char *format, ...)
{
	struct print p = {.name = "sprintf",
		.to = to,
		.most = SIZE_MAX,
		.fortified = true,
		.flag = flag,
		.size = size,
		.format = format,
		.caller = GUARD_CALLER()};
	return PRINT_LISTED(&p);
}

CALL(int, __snprintf_chk, char *to, size_t most, int flag, size_t size, const char *format, ...)
{
	struct print p = {.name = "snprintf",
		.to = to,
		.most = most,
		.bounded = true,
		.fortified = true,
		.flag = flag,
		.size = size,
		.format = format,
		.caller = GUARD_CALLER()};
	return PRINT_LISTED(&p);
}
