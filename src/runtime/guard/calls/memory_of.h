/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see calls.h. May touch: the same.
 *
 * Functions of memory, for one type of unit: memory.c includes this for bytes, wide.c for wchar_t.
 * Both define C, the unit; CU, the same as it compares; I, what functions take for one; V, what
 * pointers point to; M(x), memx or wmemx; MP(x), mempx or wmempx.
 *
 * Structures are copied by memcpy to themselves where a program assigns one to itself, which
 * compilers and libc have agreed upon: that is no overlap.
 */

REAL_OF(V *, M(cpy), (V *, const V *, size_t))
REAL_OF(V *, MP(cpy), (V *, const V *, size_t))
REAL_OF(V *, M(move), (V *, const V *, size_t))
REAL_OF(V *, M(set), (V *, I, size_t))
REAL_OF(int, M(cmp), (const V *, const V *, size_t))

static size_t count_bytes(size_t units)
{
	return units > SIZE_MAX / sizeof(C) ? SIZE_MAX : units * sizeof(C);
}

static V *move_plainly(V *to, const V *from, size_t units)
{
	C *t = to;
	const C *f = from;
	bool up = (uint64_t)to <= (uint64_t)from;
	for (size_t i = 0; i < units; i++) {
		size_t at = up ? i : units - 1 - i;
		t[at] = f[at];
		CALLS_STAY_LOOP();
	}
	return to;
}

static inline bool is_good_move(V *to, const V *from, size_t bytes)
{
	return bytes <= calls_room(to) && bytes <= calls_room(from);
}

static void check_move(
	const char *name, V *to, const V *from, size_t units, struct guard_caller caller)
{
	calls_check_write(name, to, count_bytes(units), caller);
	calls_check_read(name, from, count_bytes(units), caller);
}

static void check_copy(
	const char *name, V *to, const V *from, size_t units, struct guard_caller caller)
{
	check_move(name, to, from, units, caller);
	calls_check_overlap(name, to, count_bytes(units), from, count_bytes(units), caller);
}

SLOW V *cpy_units_slowly(V *to, const V *from, size_t units)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return move_plainly(to, from, units);
	if (to == from)
		check_move(NAME(M(cpy)), to, from, units, caller);
	else
		check_copy(NAME(M(cpy)), to, from, units, caller);
	return REAL_NAME(M(cpy))(to, from, units);
}

EXAMINED(V *, M(cpy), (to, from, units), V *to, const V *from, size_t units)
{
	COUNT_CALL();
	size_t bytes = count_bytes(units);
	if (rt_unlikely(!REAL_NAME(M(cpy)) || !is_good_move(to, from, bytes) ||
			calls_overlap(to, bytes, from, bytes)))
		return cpy_units_slowly(to, from, units);
	return REAL_NAME(M(cpy))(to, from, units);
}

SLOW V *pcpy_units_slowly(V *to, const V *from, size_t units)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return (C *)move_plainly(to, from, units) + units;
	check_copy(NAME(MP(cpy)), to, from, units, caller);
	return REAL_NAME(MP(cpy))(to, from, units);
}

EXAMINED(V *, MP(cpy), (to, from, units), V *to, const V *from, size_t units)
{
	COUNT_CALL();
	size_t bytes = count_bytes(units);
	if (rt_unlikely(!REAL_NAME(MP(cpy)) || !is_good_move(to, from, bytes) ||
			calls_overlap(to, bytes, from, bytes)))
		return pcpy_units_slowly(to, from, units);
	return REAL_NAME(MP(cpy))(to, from, units);
}

SLOW V *move_units_slowly(V *to, const V *from, size_t units)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return move_plainly(to, from, units);
	check_move(NAME(M(move)), to, from, units, caller);
	return REAL_NAME(M(move))(to, from, units);
}

EXAMINED(V *, M(move), (to, from, units), V *to, const V *from, size_t units)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(M(move)) || !is_good_move(to, from, count_bytes(units))))
		return move_units_slowly(to, from, units);
	return REAL_NAME(M(move))(to, from, units);
}

SLOW V *set_units_slowly(V *to, I unit, size_t units)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		for (size_t i = 0; i < units; i++) {
			((C *)to)[i] = (C)unit;
			CALLS_STAY_LOOP();
		}
		return to;
	}
	calls_check_write(NAME(M(set)), to, count_bytes(units), caller);
	return REAL_NAME(M(set))(to, unit, units);
}

EXAMINED(V *, M(set), (to, unit, units), V *to, I unit, size_t units)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(M(set)) || count_bytes(units) > calls_room(to)))
		return set_units_slowly(to, unit, units);
	return REAL_NAME(M(set))(to, unit, units);
}

/* A comparison ends with the first difference: only equal bytes are followed to the end. libc's
 * function loads further than that, which is why it is given no more than there is. */
static int compare_in_room(const V *a, const V *b, size_t units)
{
	size_t room_a = calls_room(a) / sizeof(C), room_b = calls_room(b) / sizeof(C);
	size_t room = room_a < room_b ? room_a : room_b;
	return REAL_NAME(M(cmp))(a, b, units < room ? units : room);
}

SLOW int cmp_units_slowly(const V *a, const V *b, size_t units)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		const CU *x = (const CU *)a, *y = (const CU *)b;
		for (; units && *x == *y; units--, x++, y++)
			CALLS_STAY_LOOP();
		return !units ? 0 : *x < *y ? -1 : 1;
	}
	int difference = compare_in_room(a, b, units);
	if (difference)
		return difference;
	calls_check_read(NAME(M(cmp)), a, count_bytes(units), caller);
	calls_check_read(NAME(M(cmp)), b, count_bytes(units), caller);
	return REAL_NAME(M(cmp))(a, b, units);
}

/* libc's would load from beyond guarded blocks where they differ before. */
EXAMINED_IF(int, M(cmp), (a, b, units), slots_have((uint64_t)a) || slots_have((uint64_t)b),
	const V *a, const V *b, size_t units)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(M(cmp)) || !is_good_move((V *)a, b, count_bytes(units))))
		return cmp_units_slowly(a, b, units);
	return REAL_NAME(M(cmp))(a, b, units);
}

/* A search ends with what it looks for. */
SLOW V *chr_units_slowly(const V *s, I unit, size_t units)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		for (const C *at = s; units; units--, at++)
			if (*at == (C)unit)
				return (V *)at;
		return NULL;
	}
	size_t room = calls_room(s) / sizeof(C);
	V *found = REAL_NAME(M(chr))(s, unit, units < room ? units : room);
	if (found || units <= room)
		return found;
	calls_check_read(NAME(M(chr)), s, count_bytes(units), caller);
	return REAL_NAME(M(chr))(s, unit, units);
}

EXAMINED(V *, M(chr), (s, unit, units), const V *s, I unit, size_t units)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(M(chr)) || count_bytes(units) > calls_room(s)))
		return chr_units_slowly(s, unit, units);
	return REAL_NAME(M(chr))(s, unit, units);
}

/* --- as programs call them that are compiled with _FORTIFY_SOURCE --- */

REAL_OF(V *, CHK(M(cpy)), (V *, const V *, size_t, size_t))
REAL_OF(V *, CHK(MP(cpy)), (V *, const V *, size_t, size_t))
REAL_OF(V *, CHK(M(move)), (V *, const V *, size_t, size_t))
REAL_OF(V *, CHK(M(set)), (V *, int, size_t, size_t))

SLOW V *cpy_units_chk_slowly(V *to, const V *from, size_t units, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return move_plainly(to, from, units);
	if (to == from)
		check_move(NAME(M(cpy)), to, from, units, caller);
	else
		check_copy(NAME(M(cpy)), to, from, units, caller);
	return REAL_NAME(CHK(M(cpy)))(to, from, units, size);
}

EXAMINED(V *, CHK(M(cpy)), (to, from, units, size), V *to, const V *from, size_t units, size_t size)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(CHK(M(cpy))) || !is_good_move(to, from, count_bytes(units)) ||
			calls_overlap(to, count_bytes(units), from, count_bytes(units))))
		return cpy_units_chk_slowly(to, from, units, size);
	return REAL_NAME(CHK(M(cpy)))(to, from, units, size);
}

SLOW V *pcpy_units_chk_slowly(V *to, const V *from, size_t units, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return (C *)move_plainly(to, from, units) + units;
	check_copy(NAME(MP(cpy)), to, from, units, caller);
	return REAL_NAME(CHK(MP(cpy)))(to, from, units, size);
}

EXAMINED(
	V *, CHK(MP(cpy)), (to, from, units, size), V *to, const V *from, size_t units, size_t size)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(CHK(MP(cpy))) || !is_good_move(to, from, count_bytes(units)) ||
			calls_overlap(to, count_bytes(units), from, count_bytes(units))))
		return pcpy_units_chk_slowly(to, from, units, size);
	return REAL_NAME(CHK(MP(cpy)))(to, from, units, size);
}

SLOW V *move_units_chk_slowly(V *to, const V *from, size_t units, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return move_plainly(to, from, units);
	check_move(NAME(M(move)), to, from, units, caller);
	return REAL_NAME(CHK(M(move)))(to, from, units, size);
}

EXAMINED(
	V *, CHK(M(move)), (to, from, units, size), V *to, const V *from, size_t units, size_t size)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(CHK(M(move))) || !is_good_move(to, from, count_bytes(units))))
		return move_units_chk_slowly(to, from, units, size);
	return REAL_NAME(CHK(M(move)))(to, from, units, size);
}

SLOW V *set_units_chk_slowly(V *to, I unit, size_t units, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return set_units_slowly(to, unit, units);
	calls_check_write(NAME(M(set)), to, count_bytes(units), caller);
	return REAL_NAME(CHK(M(set)))(to, unit, units, size);
}

EXAMINED(V *, CHK(M(set)), (to, unit, units, size), V *to, I unit, size_t units, size_t size)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(CHK(M(set))) || count_bytes(units) > calls_room(to)))
		return set_units_chk_slowly(to, unit, units, size);
	return REAL_NAME(CHK(M(set)))(to, unit, units, size);
}
