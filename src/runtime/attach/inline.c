/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: an attached process calls an allocation function whose beginning is a jump to here,
 * any thread, any moment. May touch: see state.h.
 *
 * As hooks.c, with one difference: whatever calls the function gets here, so also the allocator
 * itself in the middle of another of its functions (calloc calls malloc, operator new too). Such a
 * call is no event. A thread's row says at which stack pointer it has entered a function; a call
 * from a little below it is the allocator's, unless a signal handler runs in between, which shows
 * by the frame that the kernel has put there. So functions are called, never jumped to: else nobody
 * would say that the thread has left one. No exception may pass through these frames, so what may
 * throw is called in a form that does not, and jumped to if that fails.
 */
#include "runtime/attach/events.h"

#define STUBS_TEXT(bytes) #bytes
#define STUBS(count, bytes)                                                                        \
	__asm__(".pushsection .text\n\t.balign 64\n\t.globl hw_attach_stubs\n\t"                   \
		".type hw_attach_stubs, @function\nhw_attach_stubs:\n\t"                           \
		".fill " STUBS_TEXT(count) " * " STUBS_TEXT(                                       \
			bytes) ", 1, 0xcc\n\t"                                                     \
			       ".size hw_attach_stubs, . - hw_attach_stubs\n\t.popsection")
/* The tool writes stubs there: HW_INLINE_FUNCTIONS of HW_ATTACH_STUB_BYTES each. */
STUBS(53, 64);
_Static_assert(HW_INLINE_FUNCTIONS == 53 && HW_ATTACH_STUB_BYTES == 64, "as above");

/* A function of an allocator needs less than the first on its stack until it calls another one; a
 * signal's frame is larger (the registers alone, and 512 bytes of floating point). Further below
 * than the second is another stack. */
#define SIGNAL_FRAME 1024u
#define STACK_OF_CALL (64u << 10)
#define PAGE 4096u

struct call {
	uint32_t before; /* at_thread.inside */
};

static inline uint32_t depth_of(uint64_t sp)
{
	return (uint32_t)(sp >> 4);
}

static bool is_signal_return(uint64_t word)
{
	bool is = false;
	for (unsigned i = 0; i < HW_ATTACH_RETURNS; i++)
		is |= word && word == hw_attach.signal_returns[i];
	return is;
}

/* Between two places of a stack; or what is there can't be read: then it is none, and the handler
 * has a stack of its own. */
static __attribute__((noinline)) bool has_signal_frame(uint64_t low, uint64_t high)
{
	for (uint64_t at = low & ~7ull; at < high; at += 8) {
		if (at % PAGE == 0 && !sys_readable(at))
			return true;
		if (is_signal_return(*(const uint64_t *)at))
			return true;
	}
	return false;
}

static inline bool is_nested(uint32_t inside, uint64_t sp)
{
	uint64_t distance = (uint64_t)(uint32_t)(inside - depth_of(sp)) << 4;
	if (rt_likely(distance < SIGNAL_FRAME))
		return true;
	return distance < STACK_OF_CALL && !has_signal_frame(sp, sp + distance);
}

/* Returns false if the call is no event: then the function is all there is to do. */
static inline bool call_begin(struct call *call, uint64_t sp)
{
	struct at_own *own = at_recording();
	struct at_thread *row = rt_likely(own) ? at_thread_here(own) : NULL;
	if (rt_unlikely(!row)) {
		if (own) /* which calls are the allocator's own can't be told */
			rt_ring_count_lost(own->shm, HW_LOST_HELD);
		return false;
	}
	call->before = row->inside;
	if (rt_unlikely(call->before) && is_nested(call->before, sp))
		return false;
	row->inside = depth_of(sp);
	return true;
}

/* The process may have been let go meanwhile, and attached again. */
static inline void call_end(const struct call *call)
{
	struct at_own *own = at_recording();
	struct at_thread *row = own ? at_thread_here(own) : NULL;
	if (rt_likely(row))
		row->inside = call->before;
}

/* Arguments that a function does not have make no difference to it (AMD64 ABI 1.0, 3.2.3). */
typedef void *any_alloc(uint64_t a, uint64_t b, uint64_t c);
typedef void any_free(void *block, uint64_t a, uint64_t b);
typedef int memalign_to(void **ret, size_t alignment, size_t size);
typedef int fork_function(void);
#define ORIGINAL(function, type) ((type)hw_attach.original[function])
#define INLINED static inline __attribute__((always_inline))

/* A kind of an operator, where each has a function of its own. */
INLINED enum hw_alloc_kind alloc_kind(enum hw_alloc_kind kind)
{
	return hw_attach.plain_kinds ? HW_MALLOC : kind;
}

INLINED enum hw_free_kind free_kind(enum hw_free_kind kind)
{
	return hw_attach.plain_kinds ? HW_FREE : kind;
}

INLINED void *record_alloc(unsigned function, uint64_t a, uint64_t b, size_t bytes,
	enum hw_alloc_kind kind, struct at_caller caller)
{
	struct call call;
	if (!call_begin(&call, caller.sp))
		return ORIGINAL(function, any_alloc *)(a, b, 0);
	void *block = ORIGINAL(function, any_alloc *)(a, b, 0);
	call_end(&call);
	return at_record_alloc(block, bytes, kind, caller);
}

INLINED int record_memalign_to(
	unsigned function, void **ret, size_t alignment, size_t size, struct at_caller caller)
{
	struct call call;
	if (!call_begin(&call, caller.sp))
		return ORIGINAL(function, memalign_to *)(ret, alignment, size);
	int error = ORIGINAL(function, memalign_to *)(ret, alignment, size);
	call_end(&call);
	at_record_alloc(error ? NULL : *ret, size, HW_POSIX_MEMALIGN, caller);
	return error;
}

INLINED void record_free(unsigned function, void *block, uint64_t a, uint64_t b,
	enum hw_free_kind kind, struct at_caller caller)
{
	struct call call;
	/* One that was not sampled is none in whatever the function calls, either. */
	if (!block || at_passes_free_slowly(block) || !call_begin(&call, caller.sp)) {
		ORIGINAL(function, any_free *)(block, a, b);
		return;
	}
	at_record_free(block, free_kind(kind), caller);
	ORIGINAL(function, any_free *)(block, a, b);
	call_end(&call);
}

INLINED void *record_resize(
	unsigned function, void *block, size_t size, uint64_t flags, struct at_caller caller)
{
	const struct at_resize how = {ORIGINAL(function, at_resize_function *), flags};
	struct call call;
	if (!block)
		return record_alloc(function, 0, size, size, HW_REALLOC, caller);
	if (!call_begin(&call, caller.sp))
		return how.real(block, size, flags);
	void *moved = at_record_realloc(&how, block, size, caller);
	call_end(&call);
	return moved;
}

INLINED size_t checked_product(size_t count, size_t size)
{
	size_t bytes;
	return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

/* What is too large fails, as a realloc of that size does. */
INLINED void *record_resize_array(
	unsigned function, void *block, size_t count, size_t size, struct at_caller caller)
{
	size_t bytes = checked_product(count, size);
	if (bytes == SIZE_MAX)
		return ORIGINAL(function, any_alloc *)((uint64_t)block, count, size);
	return record_resize(
		function - HW_INLINE_REALLOCARRAY + HW_INLINE_REALLOC, block, bytes, 0, caller);
}

#define DEFINE_ALLOC(name, function, kind)                                                         \
	AT_HOOK void *at_inline_##name(size_t size);                                               \
	AT_HOOK void *at_inline_##name(size_t size)                                                \
	{                                                                                          \
		return record_alloc(function, size, 0, size, kind, AT_CALLER());                   \
	}

#define DEFINE_ALIGNED(name, function, kind)                                                       \
	AT_HOOK void *at_inline_##name(size_t alignment, size_t size);                             \
	AT_HOOK void *at_inline_##name(size_t alignment, size_t size)                              \
	{                                                                                          \
		return record_alloc(function, alignment, size, size, kind, AT_CALLER());           \
	}

#define DEFINE_FREE(name, function, kind)                                                          \
	AT_HOOK void at_inline_##name(void *block, uint64_t a, uint64_t b);                        \
	AT_HOOK void at_inline_##name(void *block, uint64_t a, uint64_t b)                         \
	{                                                                                          \
		record_free(function, block, a, b, kind, AT_CALLER());                             \
	}

#define DEFINE_CALLOC(name, function)                                                              \
	AT_HOOK void *at_inline_##name(size_t count, size_t size);                                 \
	AT_HOOK void *at_inline_##name(size_t count, size_t size)                                  \
	{                                                                                          \
		return record_alloc(function, count, size, checked_product(count, size),           \
			HW_CALLOC, AT_CALLER());                                                   \
	}

#define DEFINE_REALLOC(name, function)                                                             \
	AT_HOOK void *at_inline_##name(void *block, size_t size);                                  \
	AT_HOOK void *at_inline_##name(void *block, size_t size)                                   \
	{                                                                                          \
		return record_resize(function, block, size, 0, AT_CALLER());                       \
	}

#define DEFINE_REALLOCARRAY(name, function)                                                        \
	AT_HOOK void *at_inline_##name(void *block, size_t count, size_t size);                    \
	AT_HOOK void *at_inline_##name(void *block, size_t count, size_t size)                     \
	{                                                                                          \
		return record_resize_array(function, block, count, size, AT_CALLER());             \
	}

#define DEFINE_MEMALIGN_TO(name, function)                                                         \
	AT_HOOK int at_inline_##name(void **ret, size_t alignment, size_t size);                   \
	AT_HOOK int at_inline_##name(void **ret, size_t alignment, size_t size)                    \
	{                                                                                          \
		return record_memalign_to(function, ret, alignment, size, AT_CALLER());            \
	}

#define DEFINE_FAMILY(prefix, first)                                                               \
	DEFINE_ALLOC(prefix##malloc, (first) + HW_INLINE_MALLOC, HW_MALLOC)                        \
	DEFINE_CALLOC(prefix##calloc, (first) + HW_INLINE_CALLOC)                                  \
	DEFINE_REALLOC(prefix##realloc, (first) + HW_INLINE_REALLOC)                               \
	DEFINE_REALLOCARRAY(prefix##reallocarray, (first) + HW_INLINE_REALLOCARRAY)                \
	DEFINE_FREE(prefix##free, (first) + HW_INLINE_FREE, HW_FREE)                               \
	DEFINE_FREE(prefix##cfree, (first) + HW_INLINE_CFREE, HW_FREE)                             \
	DEFINE_MEMALIGN_TO(prefix##posix_memalign, (first) + HW_INLINE_POSIX_MEMALIGN)             \
	DEFINE_ALIGNED(prefix##aligned_alloc, (first) + HW_INLINE_ALIGNED_ALLOC, HW_ALIGNED_ALLOC) \
	DEFINE_ALIGNED(prefix##memalign, (first) + HW_INLINE_MEMALIGN, HW_MEMALIGN)                \
	DEFINE_ALLOC(prefix##valloc, (first) + HW_INLINE_VALLOC, HW_VALLOC)                        \
	DEFINE_ALLOC(prefix##pvalloc, (first) + HW_INLINE_PVALLOC, HW_PVALLOC)

DEFINE_FAMILY(, 0)
DEFINE_FREE(free_sized, HW_INLINE_FREE_SIZED, HW_FREE)
DEFINE_FREE(free_aligned_sized, HW_INLINE_FREE_ALIGNED_SIZED, HW_FREE)
DEFINE_FAMILY(other_, HW_INLINE_OTHER)

AT_HOOK void *at_inline_mallocx(size_t size, int flags);
AT_HOOK void *at_inline_mallocx(size_t size, int flags)
{
	return record_alloc(
		HW_INLINE_MALLOCX, size, (uint64_t)(unsigned)flags, size, HW_MALLOC, AT_CALLER());
}

AT_HOOK void *at_inline_rallocx(void *block, size_t size, int flags);
AT_HOOK void *at_inline_rallocx(void *block, size_t size, int flags)
{
	return record_resize(HW_INLINE_RALLOCX, block, size, (unsigned)flags, AT_CALLER());
}

/* The size comes first. */
#define DEFINE_SIZED_ALIGNED(name, function, kind)                                                 \
	AT_HOOK void *at_inline_##name(size_t size, size_t alignment);                             \
	AT_HOOK void *at_inline_##name(size_t size, size_t alignment)                              \
	{                                                                                          \
		return record_alloc(function, size, alignment, size, kind, AT_CALLER());           \
	}

DEFINE_ALLOC(zalloc, HW_INLINE_ZALLOC, HW_CALLOC)
DEFINE_SIZED_ALIGNED(malloc_aligned, HW_INLINE_MALLOC_ALIGNED, HW_MEMALIGN)
DEFINE_SIZED_ALIGNED(zalloc_aligned, HW_INLINE_ZALLOC_ALIGNED, HW_CALLOC)

AT_HOOK void *at_inline_realloc_aligned(void *block, size_t size, size_t alignment);
AT_HOOK void *at_inline_realloc_aligned(void *block, size_t size, size_t alignment)
{
	struct at_caller caller = AT_CALLER();
	struct call call;
	if (block)
		return record_resize(HW_INLINE_REALLOC_ALIGNED, block, size, alignment, caller);
	bool is_event = call_begin(&call, caller.sp);
	block = ORIGINAL(HW_INLINE_REALLOC_ALIGNED, any_alloc *)(0, size, alignment);
	if (!is_event)
		return block;
	call_end(&call);
	return at_record_alloc(block, size, HW_MEMALIGN, caller);
}

DEFINE_FREE(dallocx, HW_INLINE_DALLOCX, HW_FREE)
DEFINE_FREE(sdallocx, HW_INLINE_SDALLOCX, HW_FREE)

/* A std::nothrow_t is only a type. */
static const char quiet_tag;

#define OPERATOR(name) (HW_INLINE_NEW + (HW_ATTACH_##name - HW_ATTACH_NEW))
#define QUIET(name) OPERATOR(name##_NOTHROW)

/* By the form that throws nothing. NULL: it has failed, or the call is no event. */
INLINED void *record_new(unsigned quiet, size_t size, size_t alignment, bool is_aligned,
	enum hw_alloc_kind kind, struct at_caller caller)
{
	struct call call;
	if (!call_begin(&call, caller.sp))
		return NULL;
	uint64_t tag = (uint64_t)&quiet_tag;
	void *block = ORIGINAL(quiet, any_alloc *)(size, is_aligned ? alignment : tag, tag);
	call_end(&call);
	return block ? at_record_alloc(block, size, alloc_kind(kind), caller) : NULL;
}

#define DEFINE_NEW(name, NAME, is_aligned, kind)                                                   \
	AT_HOOK void *at_inline_##name(size_t size, size_t alignment);                             \
	AT_HOOK void *at_inline_##name(size_t size, size_t alignment)                              \
	{                                                                                          \
		void *block =                                                                      \
			record_new(QUIET(NAME), size, alignment, is_aligned, kind, AT_CALLER());   \
		if (rt_likely(block))                                                              \
			return block;                                                              \
		return ORIGINAL(OPERATOR(NAME), any_alloc *)(size, alignment, 0);                  \
	}

#define DEFINE_NEW_QUIET(name, NAME, kind)                                                         \
	AT_HOOK void *at_inline_##name(size_t size, uint64_t a, uint64_t b);                       \
	AT_HOOK void *at_inline_##name(size_t size, uint64_t a, uint64_t b)                        \
	{                                                                                          \
		struct at_caller caller = AT_CALLER();                                             \
		struct call call;                                                                  \
		any_alloc *real = ORIGINAL(OPERATOR(NAME), any_alloc *);                           \
		if (!call_begin(&call, caller.sp))                                                 \
			return real(size, a, b);                                                   \
		void *block = real(size, a, b);                                                    \
		call_end(&call);                                                                   \
		return at_record_alloc(block, size, alloc_kind(kind), caller);                     \
	}

#define DEFINE_DELETE(name, NAME, kind) DEFINE_FREE(name, OPERATOR(NAME), kind)

DEFINE_NEW(new, NEW, false, HW_NEW)
DEFINE_NEW(new_array, NEW_ARRAY, false, HW_NEW_ARRAY)
DEFINE_NEW_QUIET(new_nothrow, NEW_NOTHROW, HW_NEW_NOTHROW)
DEFINE_NEW_QUIET(new_array_nothrow, NEW_ARRAY_NOTHROW, HW_NEW_ARRAY_NOTHROW)
DEFINE_NEW(new_aligned, NEW_ALIGNED, true, HW_NEW_ALIGNED)
DEFINE_NEW(new_array_aligned, NEW_ARRAY_ALIGNED, true, HW_NEW_ARRAY_ALIGNED)
DEFINE_NEW_QUIET(new_aligned_nothrow, NEW_ALIGNED_NOTHROW, HW_NEW_ALIGNED_NOTHROW)
DEFINE_NEW_QUIET(new_array_aligned_nothrow, NEW_ARRAY_ALIGNED_NOTHROW, HW_NEW_ARRAY_ALIGNED_NOTHROW)
DEFINE_DELETE(delete, DELETE, HW_DELETE)
DEFINE_DELETE(delete_array, DELETE_ARRAY, HW_DELETE_ARRAY)
DEFINE_DELETE(delete_sized, DELETE_SIZED, HW_DELETE)
DEFINE_DELETE(delete_array_sized, DELETE_ARRAY_SIZED, HW_DELETE_ARRAY)
DEFINE_DELETE(delete_nothrow, DELETE_NOTHROW, HW_DELETE)
DEFINE_DELETE(delete_array_nothrow, DELETE_ARRAY_NOTHROW, HW_DELETE_ARRAY)
DEFINE_DELETE(delete_aligned, DELETE_ALIGNED, HW_DELETE)
DEFINE_DELETE(delete_array_aligned, DELETE_ARRAY_ALIGNED, HW_DELETE_ARRAY)
DEFINE_DELETE(delete_sized_aligned, DELETE_SIZED_ALIGNED, HW_DELETE)
DEFINE_DELETE(delete_array_sized_aligned, DELETE_ARRAY_SIZED_ALIGNED, HW_DELETE_ARRAY)
DEFINE_DELETE(delete_aligned_nothrow, DELETE_ALIGNED_NOTHROW, HW_DELETE)
DEFINE_DELETE(delete_array_aligned_nothrow, DELETE_ARRAY_ALIGNED_NOTHROW, HW_DELETE_ARRAY)

AT_HOOK int at_inline_fork(void);
AT_HOOK int at_inline_fork(void)
{
	return at_fork(ORIGINAL(HW_INLINE_FORK, fork_function *));
}
