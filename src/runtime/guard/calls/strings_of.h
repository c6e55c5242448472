/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see calls.h. May touch: the same.
 *
 * Functions of strings, for one type of character: strings.c includes this for char, wide.c for
 * wchar_t. Both define
 *
 *	C      the character, CU the same unsigned (as it compares)
 *	I      what functions take for one character
 *	S(x)   strx or wcsx, P(x) stpx or wcpx
 *
 * A string in a block ends there at the latest: what looks for its end looks as far as the block
 * goes. Most of these functions then need no second one, as they know it by then.
 */

REAL_OF(size_t, S(len), (const C *))
REAL_OF(size_t, S(nlen), (const C *, size_t))
REAL_OF(C *, S(cpy), (C *, const C *))
REAL_OF(C *, P(cpy), (C *, const C *))
REAL_OF(C *, S(ncpy), (C *, const C *, size_t))
REAL_OF(C *, P(ncpy), (C *, const C *, size_t))
REAL_OF(C *, S(cat), (C *, const C *))
REAL_OF(C *, S(ncat), (C *, const C *, size_t))
REAL_OF(int, S(cmp), (const C *, const C *))
REAL_OF(int, S(ncmp), (const C *, const C *, size_t))
REAL_OF(int, S(casecmp), (const C *, const C *))
REAL_OF(int, S(ncasecmp), (const C *, const C *, size_t))
REAL_OF(C *, S(chr), (const C *, I))
REAL_OF(C *, S(rchr), (const C *, I))
REAL_OF(C *, S(str), (const C *, const C *))
REAL_OF(C *, S(pbrk), (const C *, const C *))
REAL_OF(size_t, S(spn), (const C *, const C *))
REAL_OF(size_t, S(cspn), (const C *, const C *))
REAL_OF(int, S(coll), (const C *, const C *))
REAL_OF(C *, S(dup), (const C *))

#define UNITS(room) ((room) / sizeof(C))

/* --- as long as libc's are not there --- */

static size_t plain_len(const C *s, size_t most)
{
	size_t n = 0;
	for (; n < most && s[n]; n++)
		CALLS_STAY_LOOP();
	return n;
}

static void plain_copy(C *to, const C *from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		to[i] = from[i];
		CALLS_STAY_LOOP();
	}
}

static void clear_plainly(C *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		to[i] = 0;
		CALLS_STAY_LOOP();
	}
}

static int plain_compare(const C *a, const C *b, size_t most, bool folds)
{
	for (size_t i = 0; i < most; i++) {
		CU x = (CU)a[i], y = (CU)b[i];
		if (folds && x >= 'A' && x <= 'Z')
			x = (CU)(x + 32);
		if (folds && y >= 'A' && y <= 'Z')
			y = (CU)(y + 32);
		if (x != y)
			return x < y ? -1 : 1;
		if (!x)
			return 0;
	}
	return 0;
}

static const C *plain_find(const C *s, C c)
{
	for (;; s++) {
		if (*s == c)
			return s;
		if (!*s)
			return NULL;
		CALLS_STAY_LOOP();
	}
}

/* --- lengths --- */

/* The length, as far as `most`; reports a string that has no end in its block before that. */
static size_t measure_slowly(const char *name, const C *s, size_t most, struct guard_caller caller)
{
	size_t room = UNITS(calls_room(s)), first = room < most ? room : most;
	size_t n = REAL_NAME(S(nlen))(s, first);
	if (n < first || first == most)
		return n;
	calls_report_endless(name, s + room, caller);
	return REAL_NAME(S(nlen))(s, most);
}

SLOW size_t len_slowly(const C *s)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return plain_len(s, SIZE_MAX);
	return measure_slowly(NAME(S(len)), s, SIZE_MAX / sizeof(C), caller);
}

EXAMINED(size_t, S(len), (s), const C *s)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(S(len))))
		return len_slowly(s);
	size_t room = UNITS(calls_room(s));
	if (rt_likely(room == UNITS(CALLS_ANY)))
		return REAL_NAME(S(len))(s);
	size_t n = REAL_NAME(S(nlen))(s, room);
	return rt_likely(n < room) ? n : len_slowly(s);
}

SLOW size_t nlen_slowly(const C *s, size_t most)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return plain_len(s, most);
	return measure_slowly(NAME(S(nlen)), s, most, caller);
}

EXAMINED(size_t, S(nlen), (s, most), const C *s, size_t most)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(S(nlen)) || most > UNITS(calls_room(s))))
		return nlen_slowly(s, most);
	return REAL_NAME(S(nlen))(s, most);
}

/* Whether a string ends in its block, where it is in one; *ret: its length. */
static inline bool measure_string(const C *s, size_t *ret)
{
	size_t room = UNITS(calls_room(s));
	*ret = REAL_NAME(S(nlen))(s, room);
	return *ret < room;
}

/* --- copies --- */

/* Checks a copy of a string with its end to `to`, in front of which `before` characters of the
 * destination stay. */
static void check_string_copy(
	const char *name, C *to, size_t before, const C *from, struct guard_caller caller)
{
	size_t units = measure_slowly(name, from, SIZE_MAX / sizeof(C), caller) + 1;
	calls_check_write(name, to + before, units * sizeof(C), caller);
	calls_check_overlap(
		name, to, (before + units) * sizeof(C), from, units * sizeof(C), caller);
}

static inline bool is_good_copy(C *to, size_t before, const C *from, size_t read, size_t units)
{
	return units <= UNITS(calls_room(to + before)) &&
	       !calls_overlap(to, (before + units) * sizeof(C), from, read * sizeof(C));
}

SLOW C *cpy_slowly(C *to, const C *from)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		plain_copy(to, from, plain_len(from, SIZE_MAX) + 1);
		return to;
	}
	check_string_copy(NAME(S(cpy)), to, 0, from, caller);
	return REAL_NAME(S(cpy))(to, from);
}

EXAMINED(C *, S(cpy), (to, from), C *to, const C *from)
{
	COUNT_CALL();
	size_t n;
	if (rt_unlikely(!REAL_NAME(S(cpy)) || !measure_string(from, &n) ||
			!is_good_copy(to, 0, from, n + 1, n + 1)))
		return cpy_slowly(to, from);
	return REAL_NAME(S(cpy))(to, from);
}

SLOW C *pcpy_slowly(C *to, const C *from)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		size_t n = plain_len(from, SIZE_MAX);
		plain_copy(to, from, n + 1);
		return to + n;
	}
	check_string_copy(NAME(P(cpy)), to, 0, from, caller);
	return REAL_NAME(P(cpy))(to, from);
}

EXAMINED(C *, P(cpy), (to, from), C *to, const C *from)
{
	COUNT_CALL();
	size_t n;
	if (rt_unlikely(!REAL_NAME(P(cpy)) || !measure_string(from, &n) ||
			!is_good_copy(to, 0, from, n + 1, n + 1)))
		return pcpy_slowly(to, from);
	return REAL_NAME(P(cpy))(to, from);
}

/* strncpy and its kin read up to the end of the string, and write all that they may. */
static void check_padded_copy(
	const char *name, C *to, const C *from, size_t most, struct guard_caller caller)
{
	size_t n = measure_slowly(name, from, most, caller);
	size_t read = n < most ? n + 1 : most;
	calls_check_write(name, to, most * sizeof(C), caller);
	calls_check_overlap(name, to, most * sizeof(C), from, read * sizeof(C), caller);
}

static inline bool is_good_padded_copy(C *to, const C *from, size_t most)
{
	size_t room = UNITS(calls_room(from)), first = room < most ? room : most;
	size_t n = REAL_NAME(S(nlen))(from, first);
	return (n < first || first == most) &&
	       is_good_copy(to, 0, from, n < most ? n + 1 : most, most);
}

SLOW C *ncpy_slowly(C *to, const C *from, size_t most)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		size_t n = plain_len(from, most);
		plain_copy(to, from, n);
		clear_plainly(to + n, most - n);
		return to;
	}
	check_padded_copy(NAME(S(ncpy)), to, from, most, caller);
	return REAL_NAME(S(ncpy))(to, from, most);
}

EXAMINED(C *, S(ncpy), (to, from, most), C *to, const C *from, size_t most)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(S(ncpy)) || !is_good_padded_copy(to, from, most)))
		return ncpy_slowly(to, from, most);
	return REAL_NAME(S(ncpy))(to, from, most);
}

SLOW C *pncpy_slowly(C *to, const C *from, size_t most)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		size_t n = plain_len(from, most);
		plain_copy(to, from, n);
		clear_plainly(to + n, most - n);
		return to + n;
	}
	check_padded_copy(NAME(P(ncpy)), to, from, most, caller);
	return REAL_NAME(P(ncpy))(to, from, most);
}

EXAMINED(C *, P(ncpy), (to, from, most), C *to, const C *from, size_t most)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(P(ncpy)) || !is_good_padded_copy(to, from, most)))
		return pncpy_slowly(to, from, most);
	return REAL_NAME(P(ncpy))(to, from, most);
}

SLOW C *cat_slowly(C *to, const C *from)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		plain_copy(to + plain_len(to, SIZE_MAX), from, plain_len(from, SIZE_MAX) + 1);
		return to;
	}
	size_t before = measure_slowly(NAME(S(cat)), to, SIZE_MAX / sizeof(C), caller);
	check_string_copy(NAME(S(cat)), to, before, from, caller);
	return REAL_NAME(S(cat))(to, from);
}

EXAMINED(C *, S(cat), (to, from), C *to, const C *from)
{
	COUNT_CALL();
	size_t before, n;
	if (rt_unlikely(!REAL_NAME(S(cat)) || !measure_string(to, &before) ||
			!measure_string(from, &n) || !is_good_copy(to, before, from, n + 1, n + 1)))
		return cat_slowly(to, from);
	return REAL_NAME(S(cat))(to, from);
}

static void check_bounded_append(C *to, const C *from, size_t most, struct guard_caller caller)
{
	size_t before = measure_slowly(NAME(S(ncat)), to, SIZE_MAX / sizeof(C), caller);
	size_t n = measure_slowly(NAME(S(ncat)), from, most, caller);
	size_t read = n < most ? n + 1 : most;
	calls_check_write(NAME(S(ncat)), to + before, (n + 1) * sizeof(C), caller);
	calls_check_overlap(
		NAME(S(ncat)), to, (before + n + 1) * sizeof(C), from, read * sizeof(C), caller);
}

SLOW C *ncat_slowly(C *to, const C *from, size_t most)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		size_t n = plain_len(from, most), before = plain_len(to, SIZE_MAX);
		plain_copy(to + before, from, n);
		to[before + n] = 0;
		return to;
	}
	check_bounded_append(to, from, most, caller);
	return REAL_NAME(S(ncat))(to, from, most);
}

static bool is_good_bounded_append(C *to, const C *from, size_t most)
{
	size_t before, room = UNITS(calls_room(from)), first = room < most ? room : most;
	size_t n = REAL_NAME(S(nlen))(from, first);
	return (n < first || first == most) && measure_string(to, &before) &&
	       is_good_copy(to, before, from, n < most ? n + 1 : most, n + 1);
}

EXAMINED(C *, S(ncat), (to, from, most), C *to, const C *from, size_t most)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(S(ncat)) || !is_good_bounded_append(to, from, most)))
		return ncat_slowly(to, from, most);
	return REAL_NAME(S(ncat))(to, from, most);
}

/* --- comparisons --- */

/* Compares as far as both blocks go; where they are equal until one's end, they have no end. */
static void check_equal_ends(const char *name, const C *a, const C *b, size_t most, bool folds,
	struct guard_caller caller)
{
	size_t room_a = UNITS(calls_room(a)), room_b = UNITS(calls_room(b));
	size_t room = room_a < room_b ? room_a : room_b;
	if (room >= most || REAL_NAME(S(nlen))(a, room) < room ||
		REAL_NAME(S(nlen))(b, room) < room)
		return;
	if ((folds ? REAL_NAME(S(ncasecmp)) : REAL_NAME(S(ncmp)))(a, b, room))
		return;
	if (room == room_a)
		calls_report_endless(name, a + room, caller);
	if (room == room_b)
		calls_report_endless(name, b + room, caller);
}

/* As far as both blocks go, of at most `most` characters. */
static inline size_t common_room(const C *a, const C *b, size_t most)
{
	size_t room_a = UNITS(calls_room(a)), room_b = UNITS(calls_room(b));
	size_t room = room_a < room_b ? room_a : room_b;
	return room < most ? room : most;
}

#define COMPARE(suffix, n_suffix, folds)                                                           \
	SLOW int suffix##_slowly(const C *a, const C *b)                                           \
	{                                                                                          \
		struct guard_caller caller = GUARD_CALLER();                                       \
		if (!calls_resolve())                                                              \
			return plain_compare(a, b, SIZE_MAX, folds);                               \
		check_equal_ends(NAME(S(suffix)), a, b, SIZE_MAX, folds, caller);                  \
		return REAL_NAME(S(suffix))(a, b);                                                 \
	}                                                                                          \
	EXAMINED(int, S(suffix), (a, b), const C *a, const C *b)                                   \
	{                                                                                          \
		COUNT_CALL();                                                                      \
		if (rt_unlikely(!REAL_NAME(S(suffix))))                                            \
			return suffix##_slowly(a, b);                                              \
		size_t room = common_room(a, b, SIZE_MAX);                                         \
		if (rt_likely(room == UNITS(CALLS_ANY)))                                           \
			return REAL_NAME(S(suffix))(a, b);                                         \
		int order = REAL_NAME(S(n_suffix))(a, b, room);                                    \
		if (rt_unlikely(!order && REAL_NAME(S(nlen))(a, room) == room))                    \
			return suffix##_slowly(a, b);                                              \
		/* Of wide ones the two do not return the same: what is expected is. */            \
		return sizeof(C) == 1 ? order : REAL_NAME(S(suffix))(a, b);                        \
	}                                                                                          \
	SLOW int n_suffix##_slowly(const C *a, const C *b, size_t most)                            \
	{                                                                                          \
		struct guard_caller caller = GUARD_CALLER();                                       \
		if (!calls_resolve())                                                              \
			return plain_compare(a, b, most, folds);                                   \
		check_equal_ends(NAME(S(n_suffix)), a, b, most, folds, caller);                    \
		return REAL_NAME(S(n_suffix))(a, b, most);                                         \
	}                                                                                          \
	EXAMINED(int, S(n_suffix), (a, b, most), const C *a, const C *b, size_t most)              \
	{                                                                                          \
		COUNT_CALL();                                                                      \
		if (rt_unlikely(!REAL_NAME(S(n_suffix))))                                          \
			return n_suffix##_slowly(a, b, most);                                      \
		size_t room = common_room(a, b, most);                                             \
		int order = REAL_NAME(S(n_suffix))(a, b, room);                                    \
		if (rt_likely(order || room == most || REAL_NAME(S(nlen))(a, room) < room))        \
			return order;                                                              \
		return n_suffix##_slowly(a, b, most);                                              \
	}

COMPARE(cmp, ncmp, false)
COMPARE(casecmp, ncasecmp, true)

/* --- searches --- */

/*
 * The first `c` or the end of the string, as far as the block goes; NULL: neither is there. In
 * pieces that grow, so that what is found early is found soon.
 */
static const C *find_in_room(const C *s, C c, size_t room)
{
	for (size_t piece = 64; room; piece *= 2) {
		size_t now = piece < room ? piece : room;
		size_t n = REAL_NAME(S(nlen))(s, now);
		const C *found = find_character(s, c, n);
		if (found)
			return found;
		if (n < now)
			return s + n;
		s += now;
		room -= now;
	}
	return NULL;
}

SLOW C *chr_slowly(const C *s, I c)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return (C *)plain_find(s, (C)c);
	size_t room = UNITS(calls_room(s));
	if (room < UNITS(CALLS_ANY) && !find_in_room(s, (C)c, room))
		calls_report_endless(NAME(S(chr)), s + room, caller);
	return REAL_NAME(S(chr))(s, c);
}

EXAMINED(C *, S(chr), (s, c), const C *s, I c)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(S(chr))))
		return chr_slowly(s, c);
	size_t room = UNITS(calls_room(s));
	if (rt_likely(room == UNITS(CALLS_ANY)))
		return REAL_NAME(S(chr))(s, c);
	const C *found = find_in_room(s, (C)c, room);
	if (rt_unlikely(!found))
		return chr_slowly(s, c);
	return *found == (C)c ? (C *)found : NULL;
}

SLOW C *rchr_slowly(const C *s, I c)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve()) {
		const C *found = NULL;
		for (; s; s = *s ? s + 1 : NULL)
			found = *s == (C)c ? s : found;
		return (C *)found;
	}
	measure_slowly(NAME(S(rchr)), s, SIZE_MAX / sizeof(C), caller);
	return REAL_NAME(S(rchr))(s, c);
}

EXAMINED(C *, S(rchr), (s, c), const C *s, I c)
{
	COUNT_CALL();
	size_t n;
	if (rt_unlikely(
		    !REAL_NAME(S(rchr)) || (calls_room(s) != CALLS_ANY && !measure_string(s, &n))))
		return rchr_slowly(s, c);
	return REAL_NAME(S(rchr))(s, c);
}

/* Whether both strings end in their blocks. */
static inline bool have_ends(const C *a, const C *b)
{
	size_t n;
	return (calls_room(a) == CALLS_ANY || measure_string(a, &n)) &&
	       (calls_room(b) == CALLS_ANY || measure_string(b, &n));
}

/* Whether it may be called first and judged by its answer: it can't run into a guarded page. */
static inline bool can_ask_first(const C *s, const C *with)
{
	return !slots_have((uint64_t)s) && calls_room(with) == CALLS_ANY;
}

/* Whether a search whose answer is `found` has stayed in the block. */
static inline bool has_stayed(const C *s, const C *found)
{
	size_t room = UNITS(calls_room(s)), n;
	return found ? (size_t)(found - s) < room
		     : room == UNITS(CALLS_ANY) || measure_string(s, &n);
}

static void check_ends(const char *name, const C *a, const C *b, struct guard_caller caller)
{
	measure_slowly(name, a, SIZE_MAX / sizeof(C), caller);
	measure_slowly(name, b, SIZE_MAX / sizeof(C), caller);
}

static bool is_among(C c, const C *set)
{
	for (; *set; set++)
		if (*set == c)
			return true;
	return false;
}

/*
 * Searches in the first `room` characters, of which none may be read beyond. Each returns where the
 * search ends; `room`: not there.
 */

/* After as many characters as are (not) of a set. */
static size_t find_span(const C *s, size_t room, const C *set, bool among)
{
	size_t n = 0;
	while (n < room && s[n] && is_among(s[n], set) == among)
		n++;
	return n;
}

static size_t find_text(const C *s, size_t room, const C *what)
{
	size_t length = plain_len(what, SIZE_MAX);
	for (size_t n = 0; n < room; n++) {
		size_t same = 0;
		while (same < length && n + same < room && s[n + same] == what[same])
			same++;
		if (same == length || !s[n])
			return n;
		if (n + same == room)
			return room;
	}
	return room;
}

static size_t find_any(const C *s, size_t room, const C *set)
{
	return find_span(s, room, set, false);
}

/* The answer of a search that has ended. */
static C *answer_of(const C *s, size_t at, const C *what)
{
	return s[at] || !*what ? (C *)s + at : NULL;
}

#define FIND(suffix, find)                                                                         \
	SLOW C *suffix##_slowly(const C *s, const C *what)                                         \
	{                                                                                          \
		struct guard_caller caller = GUARD_CALLER();                                       \
		bool ready = calls_resolve();                                                      \
		size_t room = UNITS(calls_room(s)), at;                                            \
		if (ready)                                                                         \
			measure_slowly(NAME(S(suffix)), what, SIZE_MAX / sizeof(C), caller);       \
		if ((at = find(s, room, what)) < room)                                             \
			return answer_of(s, at, what);                                             \
		calls_report_endless(NAME(S(suffix)), s + room, caller);                           \
		return REAL_NAME(S(suffix))(s, what);                                              \
	}                                                                                          \
	EXAMINED(C *, S(suffix), (s, what), const C *s, const C *what)                             \
	{                                                                                          \
		COUNT_CALL();                                                                      \
		if (rt_unlikely(!REAL_NAME(S(suffix))))                                            \
			return suffix##_slowly(s, what);                                           \
		if (rt_unlikely(!can_ask_first(s, what)))                                          \
			return have_ends(s, what) ? REAL_NAME(S(suffix))(s, what)                  \
						  : suffix##_slowly(s, what);                      \
		C *found = REAL_NAME(S(suffix))(s, what);                                          \
		return rt_likely(has_stayed(s, found)) ? found : suffix##_slowly(s, what);         \
	}

FIND(str, find_text)
FIND(pbrk, find_any)

#define SPAN(suffix, among)                                                                        \
	SLOW size_t suffix##_slowly(const C *s, const C *set)                                      \
	{                                                                                          \
		struct guard_caller caller = GUARD_CALLER();                                       \
		bool ready = calls_resolve();                                                      \
		size_t room = UNITS(calls_room(s)), at;                                            \
		if (ready)                                                                         \
			measure_slowly(NAME(S(suffix)), set, SIZE_MAX / sizeof(C), caller);        \
		if ((at = find_span(s, room, set, among)) < room)                                  \
			return at;                                                                 \
		calls_report_endless(NAME(S(suffix)), s + room, caller);                           \
		return REAL_NAME(S(suffix))(s, set);                                               \
	}                                                                                          \
	EXAMINED(size_t, S(suffix), (s, set), const C *s, const C *set)                            \
	{                                                                                          \
		COUNT_CALL();                                                                      \
		if (rt_unlikely(!REAL_NAME(S(suffix))))                                            \
			return suffix##_slowly(s, set);                                            \
		if (rt_unlikely(!can_ask_first(s, set)))                                           \
			return have_ends(s, set) ? REAL_NAME(S(suffix))(s, set)                    \
						 : suffix##_slowly(s, set);                        \
		size_t n = REAL_NAME(S(suffix))(s, set);                                           \
		return rt_likely(n < UNITS(calls_room(s))) ? n : suffix##_slowly(s, set);          \
	}

SPAN(spn, true)
SPAN(cspn, false)

SLOW int coll_slowly(const C *a, const C *b)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return plain_compare(a, b, SIZE_MAX, false);
	check_ends(NAME(S(coll)), a, b, caller);
	return REAL_NAME(S(coll))(a, b);
}

EXAMINED(int, S(coll), (a, b), const C *a, const C *b)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(S(coll)) || !have_ends(a, b)))
		return coll_slowly(a, b);
	return REAL_NAME(S(coll))(a, b);
}

SLOW C *dup_slowly(const C *s)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return NULL;
	measure_slowly(NAME(S(dup)), s, SIZE_MAX / sizeof(C), caller);
	return REAL_NAME(S(dup))(s);
}

EXAMINED(C *, S(dup), (s), const C *s)
{
	COUNT_CALL();
	size_t n;
	if (rt_unlikely(
		    !REAL_NAME(S(dup)) || (calls_room(s) != CALLS_ANY && !measure_string(s, &n))))
		return dup_slowly(s);
	return REAL_NAME(S(dup))(s);
}

/* --- as programs call them that are compiled with _FORTIFY_SOURCE: libc ends those that overflow
 * what the compiler knows of --- */

REAL_OF(C *, CHK(S(cpy)), (C *, const C *, size_t))
REAL_OF(C *, CHK(P(cpy)), (C *, const C *, size_t))
REAL_OF(C *, CHK(S(ncpy)), (C *, const C *, size_t, size_t))
REAL_OF(C *, CHK(P(ncpy)), (C *, const C *, size_t, size_t))
REAL_OF(C *, CHK(S(cat)), (C *, const C *, size_t))
REAL_OF(C *, CHK(S(ncat)), (C *, const C *, size_t, size_t))

SLOW C *cpy_chk_slowly(C *to, const C *from, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return cpy_slowly(to, from);
	check_string_copy(NAME(S(cpy)), to, 0, from, caller);
	return REAL_NAME(CHK(S(cpy)))(to, from, size);
}

EXAMINED(C *, CHK(S(cpy)), (to, from, size), C *to, const C *from, size_t size)
{
	COUNT_CALL();
	size_t n;
	if (rt_unlikely(!REAL_NAME(CHK(S(cpy))) || !measure_string(from, &n) ||
			!is_good_copy(to, 0, from, n + 1, n + 1)))
		return cpy_chk_slowly(to, from, size);
	return REAL_NAME(CHK(S(cpy)))(to, from, size);
}

SLOW C *pcpy_chk_slowly(C *to, const C *from, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return pcpy_slowly(to, from);
	check_string_copy(NAME(P(cpy)), to, 0, from, caller);
	return REAL_NAME(CHK(P(cpy)))(to, from, size);
}

EXAMINED(C *, CHK(P(cpy)), (to, from, size), C *to, const C *from, size_t size)
{
	COUNT_CALL();
	size_t n;
	if (rt_unlikely(!REAL_NAME(CHK(P(cpy))) || !measure_string(from, &n) ||
			!is_good_copy(to, 0, from, n + 1, n + 1)))
		return pcpy_chk_slowly(to, from, size);
	return REAL_NAME(CHK(P(cpy)))(to, from, size);
}

SLOW C *ncpy_chk_slowly(C *to, const C *from, size_t most, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return ncpy_slowly(to, from, most);
	check_padded_copy(NAME(S(ncpy)), to, from, most, caller);
	return REAL_NAME(CHK(S(ncpy)))(to, from, most, size);
}

EXAMINED(C *, CHK(S(ncpy)), (to, from, most, size), C *to, const C *from, size_t most, size_t size)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(CHK(S(ncpy))) || !is_good_padded_copy(to, from, most)))
		return ncpy_chk_slowly(to, from, most, size);
	return REAL_NAME(CHK(S(ncpy)))(to, from, most, size);
}

SLOW C *pncpy_chk_slowly(C *to, const C *from, size_t most, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return pncpy_slowly(to, from, most);
	check_padded_copy(NAME(P(ncpy)), to, from, most, caller);
	return REAL_NAME(CHK(P(ncpy)))(to, from, most, size);
}

EXAMINED(C *, CHK(P(ncpy)), (to, from, most, size), C *to, const C *from, size_t most, size_t size)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(CHK(P(ncpy))) || !is_good_padded_copy(to, from, most)))
		return pncpy_chk_slowly(to, from, most, size);
	return REAL_NAME(CHK(P(ncpy)))(to, from, most, size);
}

SLOW C *cat_chk_slowly(C *to, const C *from, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return cat_slowly(to, from);
	size_t before = measure_slowly(NAME(S(cat)), to, SIZE_MAX / sizeof(C), caller);
	check_string_copy(NAME(S(cat)), to, before, from, caller);
	return REAL_NAME(CHK(S(cat)))(to, from, size);
}

EXAMINED(C *, CHK(S(cat)), (to, from, size), C *to, const C *from, size_t size)
{
	COUNT_CALL();
	size_t before, n;
	if (rt_unlikely(!REAL_NAME(CHK(S(cat))) || !measure_string(to, &before) ||
			!measure_string(from, &n) || !is_good_copy(to, before, from, n + 1, n + 1)))
		return cat_chk_slowly(to, from, size);
	return REAL_NAME(CHK(S(cat)))(to, from, size);
}

SLOW C *ncat_chk_slowly(C *to, const C *from, size_t most, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	if (!calls_resolve())
		return ncat_slowly(to, from, most);
	check_bounded_append(to, from, most, caller);
	return REAL_NAME(CHK(S(ncat)))(to, from, most, size);
}

EXAMINED(C *, CHK(S(ncat)), (to, from, most, size), C *to, const C *from, size_t most, size_t size)
{
	COUNT_CALL();
	if (rt_unlikely(!REAL_NAME(CHK(S(ncat))) || !is_good_bounded_append(to, from, most)))
		return ncat_chk_slowly(to, from, most, size);
	return REAL_NAME(CHK(S(ncat)))(to, from, most, size);
}
