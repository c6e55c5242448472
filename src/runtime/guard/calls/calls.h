/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls a function of libc that accesses memory which it is given; any
 * thread, any moment, also before constructors and in signal handlers. May touch: blocks, by
 * guard.h; errno is left as libc makes it.
 *
 * Functions of libc that the program finds here first. Each asks how much room there is from an
 * address to the end of its block, and calls libc's. Only if that is less than the function is to
 * access, a second function, which is jumped to (so that the caller is still the program), finds
 * out what is wrong, reports it, and calls libc's all the same. Memory that is no block's has any
 * amount of room: stacks, static data, what the program has mapped.
 *
 * Left alone is what libc and ld.so call among themselves, and what compilers put in place of a
 * call. Built without frame pointers, but for functions that use GUARD_CALLER().
 */
#ifndef RUNTIME_GUARD_CALLS_H
#define RUNTIME_GUARD_CALLS_H

#include "runtime/guard/guard.h"
#include "runtime/guard/slots.h"
#include "runtime/guard/table.h"

#define CALLS_ANY UINT64_MAX

/* Defines a function for the program, which needs no header that declares it. */
#define CALL(type, name, ...)                                                                      \
	type name(__VA_ARGS__);                                                                    \
	GUARD_API type name(__VA_ARGS__)

/* What such a function jumps to. */
#ifdef __clang__
#define SLOW static __attribute__((noinline, cold))
#else
#define SLOW static __attribute__((noinline, noclone, cold))
#endif

uint64_t calls_room_in_leaf(uint64_t address, const struct table_leaf *leaf);
uint64_t calls_room_in_slot(uint64_t address);

/*
 * Which calls of functions of memory and strings are examined, unless all blocks are guarded: the
 * first CALLS_NOTED of each place in the program that calls, and then one in CALLS_APART, as most
 * places do the same over and over. (The others run into inaccessible pages if they go beyond a
 * guarded block.) Places are known by a table of counters, each with a part of the return address,
 * in sets of four; a new one takes the place of that of its set which has counted least. Those that
 * have counted enough are in a table of their own, which is small enough to stay in the processor's
 * first cache; by chance (one in 32,768 where there is an entry) another place is taken for one of
 * them.
 */
#define CALLS_SETS 1024u /* a power of 2, as the others */
#define CALLS_WAYS 4u
#define CALLS_NOTED 1024u
#define CALLS_APART 64u
#define CALLS_OFTEN 2048u
extern uint16_t calls_often[CALLS_OFTEN]; /* relaxed; part of the address, never 0 */

/* Counts a call that is examined. */
void calls_count(uint64_t hash);

static inline uint64_t calls_hash(uint64_t pc)
{
	return pc * 0x9e3779b97f4a7c15ull;
}

/* Returns whether a call is passed over. None is before libc's functions are known. */
static inline bool calls_passes(uint64_t hash)
{
	uint16_t often = __atomic_load_n(&calls_often[hash >> 53], __ATOMIC_RELAXED);
	return rt_likely(often == (uint16_t)(hash >> 32 | 1)) &&
	       rt_likely(guard_here.calls++ % CALLS_APART);
}

/* First in a function that is examined. */
#define COUNT_CALL() calls_count(calls_hash((uint64_t)__builtin_return_address(0)))

/* First in a function that need not be examined each time: goes on to libc's if it is not now. */
#define PASS_OVER(real, ...)                                                                       \
	do {                                                                                       \
		if (rt_likely(calls_passes(calls_hash((uint64_t)__builtin_return_address(0)))))    \
			return (real)(__VA_ARGS__);                                                \
		COUNT_CALL();                                                                      \
	} while (0)

/*
 * Defines a function that need not be examined each time: what stands in braces is done when it is,
 * and begins with COUNT_CALL(). `args` are its parameters as they are passed on. The function
 * itself only jumps, and needs no frame.
 */
#define EXAMINED(type, name, args, ...) EXAMINED_OF(type, name, args, false, __VA_ARGS__)
/* The same, but each call is examined for which `always` holds. */
#define EXAMINED_IF(type, name, args, always, ...)                                                 \
	EXAMINED_OF(type, name, args, always, __VA_ARGS__)
#define EXAMINED_OF(type, name, args, always, ...)                                                 \
	static type examined_##name(__VA_ARGS__);                                                  \
	CALL(type, name, __VA_ARGS__)                                                              \
	{                                                                                          \
		uint64_t hash = calls_hash((uint64_t)__builtin_return_address(0));                 \
		return rt_likely(calls_passes(hash)) && !rt_unlikely(always)                       \
			       ? real_##name args                                                  \
			       : examined_##name args;                                             \
	}                                                                                          \
	static __attribute__((noinline)) type examined_##name(__VA_ARGS__)

/*
 * Returns the bytes from `at` to the end of the live block that contains it; 0: it is in a freed
 * block or right next to one; CALLS_ANY: it has to do with none.
 */
static inline __attribute__((always_inline)) uint64_t calls_room(const void *at)
{
	uint64_t address = (uint64_t)at;
	if (rt_unlikely(slots_have(address)))
		return calls_room_in_slot(address);
	if (rt_unlikely(address >> 47 || !table_root))
		return CALLS_ANY;
	const struct table_leaf *leaf =
		__atomic_load_n(&table_root[address >> TABLE_LEAF_SHIFT], __ATOMIC_ACQUIRE);
	return rt_likely(!leaf) ? CALLS_ANY : calls_room_in_leaf(address, leaf);
}

static inline bool calls_overlap(const void *to, uint64_t written, const void *from, uint64_t read)
{
	uint64_t t = (uint64_t)to, f = (uint64_t)from;
	return written && read && (t < f ? f - t < written : t - f < read);
}

/*
 * Each of these reports what is wrong with memory that the function `name` of libc is to access,
 * and returns whether anything was. `caller`: of that function. Guarded pages that it would run
 * into are opened: there is one report.
 */
bool calls_check_read(
	const char *name, const void *from, uint64_t bytes, struct guard_caller caller);
bool calls_check_write(const char *name, void *to, uint64_t bytes, struct guard_caller caller);
/* Of a buffer whose size the program says, though less of it may be used: "read(buf)". `leaves`: it
 * is read, not written. */
bool calls_check_buffer(const char *name, const void *buffer, uint64_t bytes, bool leaves,
	struct guard_caller caller);
void calls_check_overlap(const char *name, const void *to, uint64_t written, const void *from,
	uint64_t read, struct guard_caller caller);
/* A string goes on at the end of its block, `end`. */
void calls_report_endless(const char *name, const void *end, struct guard_caller caller);
/* Of a name for the kernel: "open(filename)". */
void calls_report_name(const char *name, const void *end, struct guard_caller caller);

/* A size that is asked for is negative, or as large as a negative one. */
static inline bool calls_is_fishy(uint64_t size)
{
	return (int64_t)size < 0;
}

/* In a loop: the compiler makes no call of it, which would come back here. */
#define CALLS_STAY_LOOP() __asm__ volatile("")

/* --- libc's functions --- */

/* Where the address of a function of libc goes: in the section guard_calls, for calls_resolve(). */
struct calls_real {
	const char *name;
	void **place;
};

/* Defines real_NAME, libc's function, or whichever comes after this library; NULL until resolved.
 */
#define REAL(type, name, args)                                                                     \
	static type(*real_##name) args;                                                            \
	static const struct calls_real entry_of_##name                                             \
		__attribute__((used, section("guard_calls"))) = {#name, (void **)&real_##name};

/* With names that are macros themselves. */
#define NAME_OF(name) #name
#define NAME(name) NAME_OF(name)
#define CHK_OF(name) __##name##_chk
#define CHK(name) CHK_OF(name)
#define REAL_NAME_OF(name) real_##name
#define REAL_NAME(name) REAL_NAME_OF(name)
#define CALL_OF(type, name, ...) CALL(type, name, __VA_ARGS__)
#define REAL_OF(type, name, args) REAL(type, name, args)

/*
 * Resolves all of them, unless that is done. Returns whether they are there. They are not while
 * ld.so relocates this library and what it loads besides: functions of other libraries that it
 * calls meanwhile (resolvers of IFUNC) may call ours, which then do by themselves what libc's do.
 */
bool calls_resolve(void);

#endif
