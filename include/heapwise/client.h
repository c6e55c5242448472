/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For programs that want to say something to heapwise while they are recorded. Header only, C and
 * C++, nothing to link: in a program that nobody records, each call is the test of a pointer.
 *
 *	#include <heapwise/client.h>
 *
 *	load_level(7);
 *	heapwise_mark("loaded");
 *
 *	$ heapwise run ./game
 *	$ heapwise report --at mark:loaded
 */
#ifndef HEAPWISE_CLIENT_H
#define HEAPWISE_CLIENT_H

#include <errno.h>
#include <stddef.h>

/* Where heapwise can record programs; elsewhere the calls do nothing. */
#if defined(__linux__) && defined(__x86_64__)
#define HEAPWISE_CLIENT_SUPPORTED 1
#else
#define HEAPWISE_CLIENT_SUPPORTED 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if HEAPWISE_CLIENT_SUPPORTED

/*
 * The address of a function of the runtime; NULL: it is not there. By the table that the loader
 * fills, whatever the compiler makes of weak functions: for an executable at a fixed address most
 * would have it settled at link time, when no library has them, that they are not there.
 */
#define HEAPWISE_FIND_(function, ret)                                                              \
	__asm__(".weak " function "\n\t"                                                           \
		"{movq " function "@GOTPCREL(%%rip), %0|mov %0, QWORD PTR " function               \
		"@GOTPCREL[rip]}"                                                                  \
		: "=r"(ret))

#endif

/*
 * Marks this moment in the recording. `name`: bytes up to a NUL, of which the first 255 count; read
 * during the call alone. Of marks that have the same name each has its number: --at mark:NAME#2. A
 * mark without a name, or with one that begins with "fork:", is none. In the recording control
 * characters, and what is no UTF-8, are '?'.
 *
 * All that this thread has allocated and freed before the call is before the mark, all that it does
 * later is after it; what other threads do is before or after as it happens. Thread-safe and
 * async-signal-safe; keeps errno. Never blocks for longer than an allocation under heapwise does;
 * where that is dropped and counted (a signal handler that has interrupted the recording of an
 * event, and finds no room), the mark is.
 */
static __inline__ __attribute__((nothrow)) void heapwise_mark(const char *name)
{
#if HEAPWISE_CLIENT_SUPPORTED
	void (*mark)(const char *);
	HEAPWISE_FIND_("heapwise_rt_mark", mark);
	if (mark)
		mark(name);
#else
	(void)name;
#endif
}

/* Whether this process is being recorded: 1 or 0. Thread-safe and async-signal-safe; keeps errno.
 */
static __inline__ __attribute__((nothrow)) int heapwise_is_recording(void)
{
#if HEAPWISE_CLIENT_SUPPORTED
	int (*is_recording)(void);
	HEAPWISE_FIND_("heapwise_rt_is_recording", is_recording);
	return is_recording ? is_recording() : 0;
#else
	return 0;
#endif
}

/* Returns 0 for 0, and -1 with that errno else. */
static __inline__ __attribute__((nothrow)) int heapwise_result_(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

/*
 * Stops recording allocations, and starts it again. Frees of blocks that were recorded are always
 * recorded; blocks that are allocated in between are in no figure, and reports say for how long
 * that was so. Returns 0, after it has taken effect, or -1 with errno: ESRCH if this process is not
 * recorded, EHOSTDOWN or ETIMEDOUT if the recorder does not answer, or what the system calls of the
 * question failed with (ENOMEM, EMFILE, or EPERM and ENOSYS in a sandbox). Thread-safe; not for
 * signal handlers.
 */
static __inline__ __attribute__((nothrow)) int heapwise_start(void)
{
#if HEAPWISE_CLIENT_SUPPORTED
	int (*start)(void);
	HEAPWISE_FIND_("heapwise_rt_start", start);
	return heapwise_result_(start ? start() : ESRCH);
#else
	return heapwise_result_(ESRCH);
#endif
}

static __inline__ __attribute__((nothrow)) int heapwise_stop(void)
{
#if HEAPWISE_CLIENT_SUPPORTED
	int (*stop)(void);
	HEAPWISE_FIND_("heapwise_rt_stop", stop);
	return heapwise_result_(stop ? stop() : ESRCH);
#else
	return heapwise_result_(ESRCH);
#endif
}

/*
 * Writes a dump: what is live now, and all counts so far, by call stack. `file` is relative to the
 * working directory; NULL: the next name of this process's dumps (`heapwise run --dump-file`). The
 * file exists, and is whole, when this returns 0; else -1 with errno, as heapwise_stop(), or EIO if
 * it can't be written. Other threads run on. Thread-safe; not for signal handlers.
 */
static __inline__ __attribute__((nothrow)) int heapwise_dump(const char *file)
{
#if HEAPWISE_CLIENT_SUPPORTED
	int (*dump)(const char *);
	HEAPWISE_FIND_("heapwise_rt_dump", dump);
	return heapwise_result_(dump ? dump(file) : ESRCH);
#else
	(void)file;
	return heapwise_result_(ESRCH);
#endif
}

/*
 * Leaves out what this thread allocates between the two calls, which nest: these blocks are in no
 * figure, nor are their frees, wherever these are. For an allocator's own memory, whose blocks
 * heapwise_block_alloc() reports. In a program that does so, frees of unknown blocks are not
 * reported as wrong.
 */
static __inline__ __attribute__((nothrow)) void heapwise_ignore_begin(void)
{
#if HEAPWISE_CLIENT_SUPPORTED
	void (*ignore)(int);
	HEAPWISE_FIND_("heapwise_rt_ignore", ignore);
	if (ignore)
		ignore(1);
#endif
}

static __inline__ __attribute__((nothrow)) void heapwise_ignore_end(void)
{
#if HEAPWISE_CLIENT_SUPPORTED
	void (*ignore)(int);
	HEAPWISE_FIND_("heapwise_rt_ignore", ignore);
	if (ignore)
		ignore(0);
#endif
}

/*
 * Reports a block that an allocator of the program's own gives out, and that it takes back: with
 * its call stack, as if malloc had given it. Memory that the allocator itself has from malloc is
 * counted too, unless it is allocated between heapwise_ignore_begin() and heapwise_ignore_end().
 * A block of malloc that contains reported ones is no leak by itself. NULL is no block. Thread-safe
 * and async-signal-safe, as heapwise_mark() is.
 */
static __inline__ __attribute__((nothrow)) void heapwise_block_alloc(void *block, size_t size)
{
#if HEAPWISE_CLIENT_SUPPORTED
	void (*alloc)(void *, size_t);
	HEAPWISE_FIND_("heapwise_rt_block_alloc", alloc);
	if (alloc)
		alloc(block, size);
#else
	(void)block, (void)size;
#endif
}

static __inline__ __attribute__((nothrow)) void heapwise_block_free(void *block)
{
#if HEAPWISE_CLIENT_SUPPORTED
	void (*release)(void *);
	HEAPWISE_FIND_("heapwise_rt_block_free", release);
	if (release)
		release(block);
#else
	(void)block;
#endif
}

/*
 * Pools: allocators of the program's own whose blocks are given back one by one or all at once. A
 * pool is known by an address, any that stays its own, such as that of its struct. Its blocks are
 * as those of heapwise_block_alloc(), and "pool NAME" is the innermost frame of their call stacks;
 * several pools may have the same name. Blocks may begin where a block of malloc does that the pool
 * has its memory from.
 *
 * NAME: bytes up to a NUL, of which the first 255 count, read during the call alone; NULL or "":
 * "memory pool". All but heapwise_pool_exists() are thread-safe and async-signal-safe, as
 * heapwise_mark() is; what is said of one pool in several threads at a time comes in some order.
 */
#if HEAPWISE_CLIENT_SUPPORTED
#define HEAPWISE_POOL_CALL_(function, type, arguments)                                             \
	do {                                                                                       \
		void(*heapwise_call_) type;                                                        \
		HEAPWISE_FIND_(function, heapwise_call_);                                          \
		if (heapwise_call_)                                                                \
			heapwise_call_ arguments;                                                  \
	} while (0)
#else
#define HEAPWISE_POOL_CALL_(function, type, arguments) ((void)0)
#endif

/* Names a pool, or renames it: for blocks that it gives out from then on. */
static __inline__ __attribute__((nothrow)) void heapwise_pool_create(void *pool, const char *name)
{
	(void)pool, (void)name;
	HEAPWISE_POOL_CALL_("heapwise_rt_pool_create", (void *, const char *), (pool, name));
}

/* Reports a block that the pool gives out. NULL is no block. */
static __inline__ __attribute__((nothrow)) void heapwise_pool_alloc(
	void *pool, void *block, size_t size)
{
	(void)pool, (void)block, (void)size;
	HEAPWISE_POOL_CALL_(
		"heapwise_rt_pool_alloc", (void *, void *, size_t), (pool, block, size));
}

/* Reports a block that the pool takes back. One that it has not given out is a wrong free. */
static __inline__ __attribute__((nothrow)) void heapwise_pool_free(void *pool, void *block)
{
	(void)pool, (void)block;
	HEAPWISE_POOL_CALL_("heapwise_rt_pool_free", (void *, void *), (pool, block));
}

/* Reports that all blocks of the pool are free; destroy: and that the pool is gone. */
static __inline__ __attribute__((nothrow)) void heapwise_pool_reset(void *pool)
{
	(void)pool;
	HEAPWISE_POOL_CALL_("heapwise_rt_pool_reset", (void *), (pool));
}

static __inline__ __attribute__((nothrow)) void heapwise_pool_destroy(void *pool)
{
	(void)pool;
	HEAPWISE_POOL_CALL_("heapwise_rt_pool_destroy", (void *), (pool));
}

/* Reports that all of its blocks outside of `size` bytes from `start` on are free; of blocks that
 * reach out of these, the part that does. */
static __inline__ __attribute__((nothrow)) void heapwise_pool_trim(
	void *pool, void *start, size_t size)
{
	(void)pool, (void)start, (void)size;
	HEAPWISE_POOL_CALL_("heapwise_rt_pool_trim", (void *, void *, size_t), (pool, start, size));
}

/* Reports that the pool is known by the address `to` from now on. */
static __inline__ __attribute__((nothrow)) void heapwise_pool_move(void *pool, void *to)
{
	(void)pool, (void)to;
	HEAPWISE_POOL_CALL_("heapwise_rt_pool_move", (void *, void *), (pool, to));
}

/* Returns 1 if the process is recorded and has this pool, else 0. Asks the recorder, which takes as
 * long as heapwise_stop(); not for signal handlers. */
static __inline__ __attribute__((nothrow)) int heapwise_pool_exists(void *pool)
{
#if HEAPWISE_CLIENT_SUPPORTED
	int (*exists)(void *);
	HEAPWISE_FIND_("heapwise_rt_pool_exists", exists);
	return exists ? exists(pool) : 0;
#else
	(void)pool;
	return 0;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
