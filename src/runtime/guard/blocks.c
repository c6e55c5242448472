/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program allocates or frees, any thread, any moment. May touch: plain blocks,
 * slots, the choice between them; libc's allocator.
 *
 * The program's blocks: which of the two kinds each one becomes, and what is wrong with a free.
 * All of that is exact: a block that is freed was LIVE until one free changed that, and no other
 * did.
 */
#include "runtime/guard/blocks.h"

#include "runtime/guard/choice.h"
#include "runtime/guard/fill.h"
#include "runtime/guard/limit.h"
#include "runtime/guard/plain.h"
#include "runtime/guard/slots.h"
#include "runtime/guard/sums.h"
#include "runtime/guard/table.h"

#include <errno.h>

static const char *const alloc_words[HW_ALLOC_KINDS] = {"malloc(size)", "calloc(size)",
	"realloc(size)", "posix_memalign(size)", "aligned_alloc(size)", "memalign(size)",
	"valloc(size)", "pvalloc(size)", "operator new(size)", "operator new[](size)",
	"operator new(size)", "operator new[](size)", "operator new(size)", "operator new[](size)",
	"operator new(size)", "operator new[](size)", "malloc(size)", "malloc(size)",
	"malloc(size)"};

/* --- new blocks --- */

static void note_largest(size_t bytes)
{
	uint64_t largest = __atomic_load_n(&guard_largest, __ATOMIC_RELAXED);
	while (rt_unlikely(bytes > largest))
		__atomic_compare_exchange_n(
			&guard_largest, &largest, bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* A call stack, for the choice: by its innermost frame and its depth where stacks are not known. */
static uint64_t key_of(uint32_t stack, struct guard_caller caller)
{
	return stack ? stack : caller.pc << 16 ^ caller.sp;
}

static void *new_slot(size_t bytes, size_t align, enum hw_alloc_kind kind, uint32_t stack,
	uint64_t key, enum block_choice choice)
{
	uint64_t since = choice_clock();
	void *block = slots_new(bytes, align, kind, stack, choice == CHOICE_FIRST);
	choice_spent(since);
	if (block)
		choice_guarded(key, bytes);
	return block;
}

static void *new_block(
	size_t bytes, size_t align, enum hw_alloc_kind kind, struct guard_caller caller)
{
	if (rt_unlikely(guard_here.handles))
		signals_review();
	uint32_t stack = guard_stack(caller);
	uint64_t key = key_of(stack, caller);
	enum block_choice choice = choice_of(key, bytes);
	void *block = rt_unlikely(choice) ? new_slot(bytes, align, kind, stack, key, choice) : NULL;
	if (rt_likely(!block)) {
		block = plain_new(bytes, align, kind, stack, kind == HW_CALLOC);
		note_largest(block ? bytes : 0);
	}
	if (rt_likely(block))
		sums_add_block(bytes);
	return block;
}

void blocks_report_size(enum hw_alloc_kind kind, size_t bytes, struct guard_caller caller)
{
	struct hw_error_report report = {.access_bytes = bytes, .alloc_kind = kind};
	guard_report_text(&report, alloc_words[kind]);
	guard_report(HW_ERROR_FISHY, &report, caller);
}

void *guard_allocate(size_t size, size_t align, enum hw_alloc_kind kind, struct guard_caller caller)
{
	if (rt_unlikely(size > PTRDIFF_MAX)) {
		if (guard_is_ready())
			blocks_report_size(kind, size, caller);
		errno = ENOMEM;
		return NULL;
	}
	if (rt_unlikely(!guard_is_ready()))
		return plain_new_raw(size, align, kind == HW_CALLOC);
	void *block = new_block(size, align, kind, caller);
	if (fill_is_wanted() && block && kind != HW_CALLOC)
		fill_new_block(block, 0, size, kind, guard_stack(caller));
	return block;
}

/* --- frees --- */

/* Whether libc itself has a block at an address that is nobody's here: the program had it from
 * libc past this library (__libc_malloc(), dlsym() of libc's handle). Says so, too. */
static bool is_libcs(uint64_t address)
{
	struct guard_block block;
	if (slots_have(address) || guard_find(address, &block) != GUARD_NOWHERE ||
		!plain_is_libcs(address))
		return false;
	guard_limit_set(HW_CHECK_LIMIT_PASSED);
	return true;
}

/* An address that can't be freed, in or next to `found`, which may be nowhere. */
static void report_bad_address(
	uint64_t address, struct guard_freeing freeing, struct guard_caller caller)
{
	struct guard_block block;
	enum guard_where where = guard_find(address, &block);
	struct hw_error_report report = {.address = address, .free_kind = freeing.kind};
	enum hw_error_kind kind = HW_ERROR_FREE;
	const uint8_t *mark = slots_have(address) ? NULL : table_mark(address);
	if (where != GUARD_NOWHERE)
		guard_report_block(&report, &block);
	bool freed = where != GUARD_NOWHERE && !block.live && address == block.start;
	/* Of long ago: no block is known any more. */
	bool gone = mark && !(address & 15) && *mark == TABLE_GONE &&
		    !(where == GUARD_INSIDE && block.live);
	if (freed || gone)
		kind = HW_ERROR_DOUBLE_FREE;
	if (kind == HW_ERROR_DOUBLE_FREE && address != report.block)
		report = (struct hw_error_report){.address = address, .free_kind = freeing.kind};
	guard_report(kind, &report, caller);
}

static bool is_aligned_new(const struct guard_block *block)
{
	return block->alloc_kind >= HW_NEW_ALIGNED;
}

static bool is_delete(struct guard_freeing freeing)
{
	return freeing.kind == HW_DELETE || freeing.kind == HW_DELETE_ARRAY;
}

/* What is wrong with how a live block is freed. */
static enum hw_error_kind judge_freeing(
	const struct guard_block *block, struct guard_freeing freeing)
{
	enum hw_free_kind kind = hw_free_is_realloc(freeing.kind) ? HW_FREE : freeing.kind;
	if (hw_matching_free(block->alloc_kind) != kind)
		return HW_ERROR_MISMATCH;
	bool aligned = is_delete(freeing) ? is_aligned_new(block) : freeing.aligned;
	if (aligned != freeing.aligned || (aligned && freeing.align != 1ull << block->align_shift))
		return HW_ERROR_ALIGN;
	if (freeing.sized && freeing.size != block->bytes)
		return HW_ERROR_SIZE;
	return HW_ERROR_NONE;
}

static void check_freeing(
	const struct guard_block *block, struct guard_freeing freeing, struct guard_caller caller)
{
	enum hw_error_kind wrong = judge_freeing(block, freeing);
	if (rt_likely(wrong == HW_ERROR_NONE))
		return;
	struct hw_error_report report = {.address = block->start, .free_kind = freeing.kind};
	if (wrong == HW_ERROR_SIZE)
		report.access_bytes = freeing.size;
	else if (wrong == HW_ERROR_ALIGN)
		report.access_bytes = freeing.align;
	guard_report_block(&report, block);
	guard_report(wrong, &report, caller);
}

static void report_header(uint64_t start, struct guard_caller caller)
{
	struct hw_error_report report = {.address = start - 1,
		.access_bytes = 1,
		.block = start,
		.flags = HW_ERROR_LATE | HW_ERROR_UNSIZED};
	guard_report(HW_ERROR_CANARY, &report, caller);
	plain_lose(start);
}

/*
 * A freed plain block is kept from reuse for a while, with the stack of the free: if it is freed
 * again, or changed, that can be told. Of threads that free much this is done with some blocks
 * alone, since it takes longer than all the rest of a free. (Of the others a second free is found,
 * too, until libc gives out their memory again, but not where the first was.)
 */
#define FREES_KEPT (1u << 16) /* of each thread: the first ones, then one in … */
#define FREES_APART 16u

static bool is_kept(void)
{
	uint32_t n = guard_here.frees++;
	return rt_unlikely(n < FREES_KEPT || n % FREES_APART == 0) || guard_settings.full;
}

static void free_plain(uint64_t start, struct guard_freeing freeing, struct guard_caller caller)
{
	struct guard_block block;
	bool kept = is_kept();
	if (rt_likely(!kept) && rt_likely(plain_drop_good(start, freeing)))
		return;
	if (rt_unlikely(!plain_describe_own(start, &block))) {
		report_header(start, caller);
		return;
	}
	check_freeing(&block, freeing, caller);
	plain_check(&block, caller, 0);
	if (kept)
		plain_keep(&block, guard_stack(caller));
	else
		plain_drop(&block);
}

static void free_slot(uint64_t start, struct guard_freeing freeing, struct guard_caller caller)
{
	struct guard_slot *slot = slots_find(start);
	struct guard_block block;
	if (rt_unlikely(!slot || slot->start != start)) {
		report_bad_address(start, freeing, caller);
		return;
	}
	slots_describe(slot, &block);
	if (rt_unlikely(!slots_mark_freed(slot, guard_stack(caller)))) {
		report_bad_address(start, freeing, caller);
		return;
	}
	check_freeing(&block, freeing, caller);
	slots_check(slot, caller, 0);
	uint64_t since = choice_clock();
	slots_close(slot);
	choice_spent(since);
}

/* Takes a live plain block for the caller alone. */
static bool take_plain(uint64_t start)
{
	uint8_t *mark = start & 15 ? NULL : table_mark(start);
	return mark && table_change(mark, TABLE_LIVE, TABLE_FREED);
}

/* Whether a block is libc's without any of ours around it. */
static inline bool is_raw(uint64_t start)
{
	return !guard_is_ready() || (table_knows_nothing(start) && !slots_have(start));
}

static bool free_libcs(void *pointer)
{
	if (!is_libcs((uint64_t)pointer))
		return false;
	plain_free_raw(pointer);
	return true;
}

void guard_free(void *pointer, struct guard_freeing freeing, struct guard_caller caller)
{
	uint64_t start = (uint64_t)pointer;
	if (!pointer)
		return;
	__builtin_prefetch((const char *)pointer - 16); /* the header, while the table is read */
	if (rt_unlikely(is_raw(start)))
		plain_free_raw(pointer);
	else if (slots_have(start))
		free_slot(start, freeing, caller);
	else if (rt_likely(take_plain(start)))
		free_plain(start, freeing, caller);
	else if (!free_libcs(pointer))
		report_bad_address(start, freeing, caller);
}

/* --- realloc --- */

/* From this size on libc's realloc moves pages instead of bytes. */
#define RESIZED_LEAST (64u << 10)

/* A block that realloc was given; false, after the report: it was none. */
static bool find_live(uint64_t start, struct guard_block *ret, struct guard_caller caller)
{
	if (guard_find(start, ret) == GUARD_INSIDE && ret->live && ret->start == start)
		return true;
	const uint8_t *mark = slots_have(start) || start & 15 ? NULL : table_mark(start);
	if (mark && *mark == TABLE_LIVE && plain_describe(start, true, ret))
		return true; /* of 0 bytes */
	const struct guard_slot *slot = slots_have(start) ? slots_find(start) : NULL;
	if (slot && slot->start == start && slot->state == SLOT_LIVE) {
		slots_describe(slot, ret);
		return true;
	}
	if (mark && *mark == TABLE_LIVE)
		report_header(start, caller);
	else
		report_bad_address(start, (struct guard_freeing){.kind = HW_FREE_REALLOC}, caller);
	return false;
}

static void *resize_plain(const struct guard_block *block, size_t size, struct guard_caller caller)
{
	if (!take_plain(block->start))
		return NULL;
	check_freeing(block, (struct guard_freeing){.kind = HW_FREE_REALLOC}, caller);
	plain_check(block, caller, 0);
	void *moved = plain_resize(block, size, guard_stack(caller));
	if (moved) {
		note_largest(size);
		sums_add_block(size);
	}
	return moved;
}

static bool is_resizable(const struct guard_block *block, size_t size)
{
	return !block->guarded && !guard_settings.full && !table_lacks_leaves && !sys_no_calls() &&
	       block->bytes >= RESIZED_LEAST && size >= RESIZED_LEAST && block->align_shift <= 4;
}

static void *move_block(const struct guard_block *block, size_t size, struct guard_caller caller)
{
	void *moved = new_block(size, 0, HW_REALLOC, caller);
	if (!moved)
		return NULL;
	size_t kept = size < block->bytes ? size : block->bytes;
	guard_copy(moved, (const void *)block->start, kept);
	guard_free((void *)block->start, (struct guard_freeing){.kind = HW_FREE_REALLOC}, caller);
	return moved;
}

/* Of a block of which only libc knows. */
static void *move_raw(void *pointer, size_t size, struct guard_caller caller)
{
	size_t before = plain_size_raw(pointer);
	void *moved = size ? guard_allocate(size, 0, HW_REALLOC, caller) : NULL;
	if (size && !moved)
		return NULL;
	if (moved)
		guard_copy(moved, pointer, size < before ? size : before);
	plain_free_raw(pointer);
	return moved;
}

void *guard_reallocate(void *pointer, size_t size, struct guard_caller caller)
{
	struct guard_block block;
	if (!pointer)
		return guard_allocate(size, 0, HW_REALLOC, caller);
	if (!guard_is_ready())
		return plain_resize_raw(pointer, size);
	if (size > PTRDIFF_MAX) {
		blocks_report_size(HW_REALLOC, size, caller);
		errno = ENOMEM;
		return NULL;
	}
	if (rt_unlikely(is_raw((uint64_t)pointer)))
		return move_raw(pointer, size, caller);
	if (is_libcs((uint64_t)pointer))
		return move_raw(pointer, size, caller);
	if (!find_live((uint64_t)pointer, &block, caller)) {
		errno = ENOMEM;
		return NULL;
	}
	if (!size) {
		struct hw_error_report report = {.address = block.start};
		guard_report_block(&report, &block);
		guard_report(HW_ERROR_REALLOC_ZERO, &report, caller);
		guard_free(pointer, (struct guard_freeing){.kind = HW_FREE_REALLOC_ZERO}, caller);
		return NULL;
	}
	void *moved = is_resizable(&block, size) ? resize_plain(&block, size, caller)
						 : move_block(&block, size, caller);
	if (fill_is_wanted() && moved && size > block.bytes)
		fill_new_block(moved, block.bytes, size, HW_REALLOC, guard_stack(caller));
	return moved;
}

size_t guard_usable_size(const void *pointer)
{
	struct guard_block block;
	uint64_t start = (uint64_t)pointer;
	if (!pointer)
		return 0;
	if (is_raw(start) || is_libcs(start))
		return plain_size_raw(pointer);
	bool found = guard_find(start, &block) != GUARD_NOWHERE && block.start == start;
	return found ? block.bytes : 0;
}
