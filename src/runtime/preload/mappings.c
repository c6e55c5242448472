/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see mappings.h. May touch: the same.
 *
 * Each hook does what the real function does, with its result and its errno, and records what came
 * of it.
 */
#include "runtime/preload/mappings.h"

#include "runtime/preload/hooks.h"
#include "runtime/preload/real.h"
#include "runtime/preload/sampling.h"

#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ull
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
/* A thread's control block is at the top of its stack (glibc, nptl/allocatestack.c), and not larger
 * than this. */
#define CONTROL_BLOCK_MAX PAGE

uint32_t rt_mappings;

void rt_mappings_prepare(struct rt_process *p)
{
	rt_walk_init(&p->mapping_walk, p->mapping_frames, NULL);
	__atomic_store_n(&rt_mappings, p->shm->mappings, __ATOMIC_RELAXED);
}

static bool has_word(const char *text, const char *word, size_t bytes)
{
	while (*text && strncmp(text, word, bytes) != 0)
		text++;
	return *text;
}

/*
 * Before the first event the collector has not said whether mappings are wanted. Where they are
 * not, no mapping begins the recording: that would move the memory that an allocator maps first.
 */
static bool are_asked_for(void)
{
	static const char variable[] = HW_MAPPINGS_ENV "=", options[] = HW_OPTIONS_ENV "=",
			  word[] = "--mmap";
	for (char **e = environ; e && *e; e++) {
		if (!strncmp(*e, variable, sizeof(variable) - 1) ||
			(!strncmp(*e, options, sizeof(options) - 1) &&
				has_word(*e, word, sizeof(word) - 1)))
			return true;
	}
	return false;
}

bool rt_mappings_wanted(void)
{
	if (rt_unlikely(__atomic_load_n(&rt_mode, __ATOMIC_RELAXED) == RT_MODE_UNKNOWN) &&
		are_asked_for())
		rt_thread_start();
	return __atomic_load_n(&rt_mappings, __ATOMIC_RELAXED) != HW_MAPPINGS_OFF;
}

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(PAGE - 1);
}

/* Of what only maps: there is nothing to record before. */
static void put_mapped(
	uint64_t at, uint64_t bytes, enum hw_map_kind kind, uint32_t flags, struct rt_caller caller)
{
	const struct rt_mapping mapping = {
		.at = at, .bytes = page_up(bytes), .kind = kind, .flags = flags};
	struct rt_mapping_event event;
	rt_event_mapping_begin(&event, &mapping, caller.sp);
	rt_event_mapping_end(&event, &mapping, caller);
}

static uint32_t mapping_flags(int protection, int flags)
{
	return (flags & MAP_ANONYMOUS ? 0 : (uint32_t)HW_MAP_FILE) |
	       ((flags & MAP_TYPE) == MAP_PRIVATE ? 0 : (uint32_t)HW_MAP_SHARED) |
	       (protection == PROT_NONE ? (uint32_t)HW_MAP_RESERVED : 0);
}

/* With 64-bit offsets both names are one function of libc (_FILE_OFFSET_BITS), but another preload
 * may wrap either. */
#define DEFINE_MMAP(function, real, name)                                                          \
	HOOK void *function(void *at, size_t bytes, int protection, int flags, int fd,             \
		off_t offset) __asm__(name);                                                       \
	HOOK void *function(                                                                       \
		void *at, size_t bytes, int protection, int flags, int fd, off_t offset)           \
	{                                                                                          \
		if (rt_unlikely(!rt_real.real))                                                    \
			rt_real_resolve();                                                         \
		void *mapped = rt_real.real(at, bytes, protection, flags, fd, offset);             \
		struct rt_caller caller = RT_CALLER();                                             \
		if (rt_unlikely(rt_mappings_wanted()) && mapped != MAP_FAILED)                     \
			put_mapped((uint64_t)mapped, bytes, HW_MAP_MMAP,                           \
				mapping_flags(protection, flags), caller);                         \
		return mapped;                                                                     \
	}

DEFINE_MMAP(mmap_short, mmap, "mmap")
DEFINE_MMAP(mmap_long, mmap64, "mmap64")

HOOK int munmap(void *at, size_t bytes)
{
	if (rt_unlikely(!rt_real.munmap))
		rt_real_resolve();
	if (rt_likely(!rt_mappings_wanted()) || (uint64_t)at % PAGE || !bytes)
		return rt_real.munmap(at, bytes);
	struct rt_caller caller = RT_CALLER();
	const struct rt_mapping mapping = {.gone_at = (uint64_t)at, .gone_bytes = page_up(bytes)};
	struct rt_mapping_event event;
	rt_event_mapping_begin(&event, &mapping, caller.sp);
	int result = rt_real.munmap(at, bytes);
	rt_event_mapping_end(&event, result ? NULL : &mapping, caller);
	return result;
}

/* What a successful mremap has done. */
static void describe_mremap(struct rt_mapping *m, uint64_t old, uint64_t old_bytes, uint64_t moved,
	uint64_t bytes, int flags)
{
	bool stays = !old_bytes || flags & MREMAP_DONTUNMAP;
	*m = (struct rt_mapping){.kind = HW_MAP_MREMAP};
	if (moved == old &&
		bytes <= old_bytes) { /* in place: it is who mapped it whose rest it is */
		m->gone_at = old + bytes;
		m->gone_bytes = old_bytes - bytes;
		return;
	}
	if (!stays) {
		m->gone_at = old;
		m->gone_bytes = old_bytes;
	}
	m->at = moved;
	m->bytes = bytes;
}

HOOK void *mremap(void *at, size_t old_bytes, size_t bytes, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	void *to = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(more, void *) : NULL;
	va_end(more);
	if (rt_unlikely(!rt_real.mremap))
		rt_real_resolve();
	if (rt_likely(!rt_mappings_wanted()))
		return rt_real.mremap(at, old_bytes, bytes, flags, to);
	struct rt_caller caller = RT_CALLER();
	struct rt_mapping mapping = {.kind = HW_MAP_MREMAP};
	struct rt_mapping_event event;
	rt_event_mapping_begin(&event, &mapping, caller.sp);
	void *moved = rt_real.mremap(at, old_bytes, bytes, flags, to);
	describe_mremap(
		&mapping, (uint64_t)at, page_up(old_bytes), (uint64_t)moved, page_up(bytes), flags);
	rt_event_mapping_end(&event, moved == MAP_FAILED ? NULL : &mapping, caller);
	return moved;
}

/* The program's break has moved. */
static void describe_break(
	struct rt_mapping *m, uint64_t before, uint64_t after, enum hw_map_kind kind)
{
	before = page_up(before);
	after = page_up(after);
	*m = (struct rt_mapping){.kind = kind};
	if (after > before) {
		m->at = before;
		m->bytes = after - before;
	} else {
		m->gone_at = after;
		m->gone_bytes = before - after;
	}
}

HOOK int brk(void *to)
{
	if (rt_unlikely(!rt_real.brk))
		rt_real_resolve();
	if (rt_likely(!rt_mappings_wanted()))
		return rt_real.brk(to);
	struct rt_caller caller = RT_CALLER();
	struct rt_mapping mapping = {.kind = HW_MAP_BRK};
	struct rt_mapping_event event;
	rt_event_mapping_begin(&event, &mapping, caller.sp);
	uint64_t before = (uint64_t)rt_real.sbrk(0);
	int result = rt_real.brk(to);
	describe_break(&mapping, before, (uint64_t)to, HW_MAP_BRK);
	rt_event_mapping_end(&event, result ? NULL : &mapping, caller);
	return result;
}

HOOK void *sbrk(intptr_t bytes)
{
	if (rt_unlikely(!rt_real.sbrk))
		rt_real_resolve();
	if (rt_likely(!bytes) || rt_likely(!rt_mappings_wanted()))
		return rt_real.sbrk(bytes);
	struct rt_caller caller = RT_CALLER();
	struct rt_mapping mapping = {.kind = HW_MAP_SBRK};
	struct rt_mapping_event event;
	rt_event_mapping_begin(&event, &mapping, caller.sp);
	void *before = rt_real.sbrk(bytes);
	bool failed = before == (void *)-1;
	describe_break(&mapping, (uint64_t)before, (uint64_t)before + (uint64_t)bytes, HW_MAP_SBRK);
	rt_event_mapping_end(&event, failed ? NULL : &mapping, caller);
	return before;
}

/* The stack that a thread got from libc, with its guard; no bytes: the program has given it one. */
static struct rt_mapping thread_stack(pthread_t thread, const pthread_attr_t *attributes)
{
	static const pthread_attr_t defaults; /* all zero: what libc takes for "not set" */
	size_t bytes = 0, given = 0, guard = PAGE;
	void *at = NULL;
	struct rt_mapping m = {.kind = HW_MAP_THREAD};
	pthread_attr_getstacksize(attributes ? attributes : &defaults, &bytes);
	if (attributes) {
		pthread_attr_getguardsize(attributes, &guard);
		pthread_attr_getstack(attributes, &at, &given);
		if ((uint64_t)at + given) /* 0: no address is set */
			return m;
	}
	m.bytes = page_up(bytes) + page_up(guard);
	m.at = page_up((uint64_t)thread + CONTROL_BLOCK_MAX - PAGE + 1) - m.bytes;
	return m;
}

HOOK int pthread_create(pthread_t *restrict ret, const pthread_attr_t *restrict attributes,
	void *(*start)(void *), void *restrict argument)
{
	if (rt_unlikely(!rt_real.pthread_create))
		rt_real_resolve();
	int error = rt_real.pthread_create(ret, attributes, start, argument);
	struct rt_caller caller = RT_CALLER();
	if (rt_likely(!rt_mappings_wanted()) || error)
		return error;
	const struct rt_mapping mapping = thread_stack(*ret, attributes);
	struct rt_mapping_event event;
	if (!mapping.bytes)
		return 0;
	rt_event_mapping_begin(&event, &mapping, caller.sp);
	rt_event_mapping_end(&event, &mapping, caller);
	return 0;
}
