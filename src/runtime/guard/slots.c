/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see slots.h. May touch: the same. */
#include "runtime/guard/slots.h"

#include "runtime/guard/backend.h"
#include "runtime/guard/limit.h"
#include "runtime/guard/sweep.h"

#include <sys/mman.h>

#define RESERVED (1ull << 40)
#define RESERVED_LEAST (16ull << 20)
/* Of a limited address space one part in so many. */
#define SHARE_OF_LIMIT 8
/* The reservation is made usable in pieces of this many pages; their slots fill 6 pages, their
 * numbers of pages one. */
#define PIECE_PAGES 1024u
#define PIECE_BYTES ((uint64_t)PIECE_PAGES << GUARD_PAGE_SHIFT)
#define SLOT_MOST (1ull << 30) /* bytes of a guarded block */
#define ALIGN_MOST (1ull << 16)
#define SLACK_CANARY 0xc9u
#define SLACK_CHECKED 64u /* bytes of the slack that have the canary, on each side of a block */

uint64_t slots_base, slots_end, slots_live_bytes;
static struct guard_slot *slots; /* by half the number of its first page */
static uint32_t *page_slots;     /* 1 + number of the first page of the slot; 0: none */
static uint64_t next_page;       /* relaxed: none below is free */
static uint64_t opened_pages;    /* release: they can be used, and their entries */
static struct rt_lock opening;   /* leaf */
static bool stopped;             /* relaxed */

static bool map_reserved(uint64_t bytes)
{
	uint64_t pages = bytes >> GUARD_PAGE_SHIFT;
	uint64_t slot_bytes = pages / 2 * sizeof(*slots), index_bytes = pages * sizeof(*page_slots);
	uint64_t all = bytes + slot_bytes + index_bytes;
	long at = sys_call6(__NR_mmap, 0, (long)all, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sys_failed(at))
		return false;
	page_slots = (uint32_t *)at;
	slots = (struct guard_slot *)(at + (long)index_bytes);
	slots_base = (uint64_t)at + index_bytes + slot_bytes;
	slots_end = slots_base + bytes;
	sys_call(__NR_madvise, at, all, MADV_DONTDUMP);
	sys_call(__NR_madvise, at, all, MADV_NOHUGEPAGE);
	return true;
}

static uint64_t reservation_wanted(void)
{
	uint64_t limit = guard_address_limit();
	if (limit / SHARE_OF_LIMIT >= RESERVED)
		return RESERVED;
	guard_limit_set(HW_CHECK_LIMIT_SPACE);
	return limit / SHARE_OF_LIMIT / PIECE_BYTES * PIECE_BYTES;
}

enum hw_check_backend slots_init(void)
{
	if (guard_settings.backend == HW_BACKEND_NONE)
		return HW_BACKEND_NONE;
	uint64_t bytes = reservation_wanted();
	while (bytes >= RESERVED_LEAST && !map_reserved(bytes)) {
		guard_limit_set(HW_CHECK_LIMIT_SPACE);
		bytes = bytes / 2 / PIECE_BYTES * PIECE_BYTES;
	}
	if (bytes < RESERVED_LEAST)
		return HW_BACKEND_NONE;
	enum hw_check_backend backend = backend_start(slots_base, bytes >> GUARD_PAGE_SHIFT);
	next_page = 1; /* the first one is the guard before the first slot */
	if (backend == HW_BACKEND_NONE)
		slots_stop(0);
	return backend;
}

static uint64_t page_number(uint64_t address)
{
	return (address - slots_base) >> GUARD_PAGE_SHIFT;
}

static uint64_t page_address(uint64_t page)
{
	return slots_base + (page << GUARD_PAGE_SHIFT);
}

static bool open_piece(uint64_t first)
{
	uint64_t index = (uint64_t)(page_slots + first), slot = (uint64_t)(slots + first / 2);
	int usable = PROT_READ | PROT_WRITE;
	return !sys_failed(
		       sys_call(__NR_mprotect, index, PIECE_PAGES * sizeof(*page_slots), usable)) &&
	       !sys_failed(
		       sys_call(__NR_mprotect, slot, PIECE_PAGES / 2 * sizeof(*slots), usable)) &&
	       backend_open_pool(page_address(first), PIECE_PAGES);
}

/* Makes all pages before `end` usable. */
static bool open_until(uint64_t end)
{
	if (rt_likely(end <= __atomic_load_n(&opened_pages, __ATOMIC_ACQUIRE)))
		return true;
	if (!rt_lock_try(&opening))
		return false;
	/* What lies after that slots_stop() has given back. */
	bool opened = page_address(end) <= slots_end;
	while (opened && end > opened_pages) {
		opened = open_piece(opened_pages);
		if (opened)
			__atomic_store_n(
				&opened_pages, opened_pages + PIECE_PAGES, __ATOMIC_RELEASE);
	}
	rt_unlock(&opening);
	return opened;
}

/* Takes pages of which the first is at a multiple of `align` (of pages). 0: there are none left. */
static uint64_t take_pages(uint64_t pages, uint64_t align)
{
	uint64_t wanted = pages + align - 1;
	uint64_t first = __atomic_fetch_add(&next_page, wanted, __ATOMIC_RELAXED);
	if (rt_unlikely(first + wanted > (slots_end - slots_base) >> GUARD_PAGE_SHIFT)) {
		slots_stop(HW_CHECK_LIMIT_SPACE);
		return 0;
	}
	if (!open_until(first + wanted)) {
		slots_stop(HW_CHECK_LIMIT_SPACE);
		return 0;
	}
	uint64_t base = slots_base >> GUARD_PAGE_SHIFT;
	return ((first + base + align - 1) & ~(align - 1)) - base;
}

/* Where the block begins in pages of `room` bytes. */
static uint64_t place_block(uint64_t at, uint64_t room, size_t bytes, size_t align, bool before)
{
	size_t step = align ? align : guard_settings.align;
	uint64_t taken = bytes ? bytes : 1;
	if (before || align > GUARD_PAGE)
		return at;
	return (at + room - taken) & ~(uint64_t)(step - 1);
}

/* The slack with a canary before a block, and after. */
static uint64_t slack_before(const struct guard_slot *slot, uint64_t at)
{
	return slot->start - at < SLACK_CHECKED ? slot->start - at : SLACK_CHECKED;
}

static uint64_t slack_after(const struct guard_slot *slot, uint64_t at)
{
	uint64_t after =
		at + ((uint64_t)slot->pages << GUARD_PAGE_SHIFT) - slot->start - slot->bytes;
	return after < SLACK_CHECKED ? after : SLACK_CHECKED;
}

static uint64_t slot_address(const struct guard_slot *slot)
{
	return slot->start & ~(uint64_t)(GUARD_PAGE - 1);
}

/* A block at the end of its pages begins in the first of them, so that is where its pages begin;
 * with alignment to pages too. */
static void fill_slack(const struct guard_slot *slot)
{
	uint64_t at = slot_address(slot), before = slack_before(slot, at);
	guard_fill((void *)(slot->start - before), SLACK_CANARY, before);
	guard_fill((void *)(slot->start + slot->bytes), SLACK_CANARY, slack_after(slot, at));
}

/* Far more accesses are wrong after a block than before it, and of most call stacks there is one
 * block: that has the inaccessible page after it, unless all are to have it before. */
static bool is_wanted_before(uint64_t page, bool is_first)
{
	uint64_t percent = guard_settings.before;
	return guard_random(page) % 100 < percent && (!is_first || percent == 100);
}

static void note_pages(uint64_t first, uint64_t pages)
{
	for (uint64_t i = 0; i < pages; i++)
		page_slots[first + i] = (uint32_t)(first + 1);
}

void *slots_new(size_t bytes, size_t align, enum hw_alloc_kind kind, uint32_t stack, bool is_first)
{
	if (__atomic_load_n(&stopped, __ATOMIC_RELAXED) || bytes > SLOT_MOST ||
		align > ALIGN_MOST || sys_no_calls())
		return NULL;
	/* Alignment takes no more pages: the end of a page is a multiple of it. */
	uint64_t pages = ((bytes ? bytes : 1) + GUARD_PAGE - 1) >> GUARD_PAGE_SHIFT;
	uint64_t align_pages = align > GUARD_PAGE ? align >> GUARD_PAGE_SHIFT : 1;
	uint64_t first = take_pages(pages + 1, align_pages);
	if (!first)
		return NULL;
	uint64_t at = page_address(first);
	if (!backend_give(at, pages))
		return NULL;
	struct guard_slot *slot = &slots[first / 2];
	bool before = is_wanted_before(first, is_first);
	*slot = (struct guard_slot){
		.start = place_block(at, pages << GUARD_PAGE_SHIFT, bytes, align, before),
		.bytes = bytes,
		.pages = (uint32_t)pages,
		.allocated_at = stack,
		.forks = (uint16_t)guard_forks,
		.allocated_by = guard_tid(),
		.alloc_kind = kind,
		.align_shift = align ? (uint8_t)__builtin_ctzll(align) : 0,
		.before = before};
	fill_slack(slot);
	note_pages(first, pages + 1);
	__atomic_fetch_add(&slots_live_bytes, pages << GUARD_PAGE_SHIFT, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->state, SLOT_LIVE, __ATOMIC_RELEASE);
	return (void *)slot->start;
}

static struct guard_slot *slot_of_page(uint64_t page)
{
	if (page >= __atomic_load_n(&opened_pages, __ATOMIC_ACQUIRE))
		return NULL;
	uint32_t first = __atomic_load_n(&page_slots[page], __ATOMIC_RELAXED);
	struct guard_slot *slot = first ? &slots[(first - 1) / 2] : NULL;
	return slot && __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != SLOT_NONE ? slot : NULL;
}

struct guard_slot *slots_find(uint64_t address)
{
	return slot_of_page(page_number(address));
}

static uint64_t distance_to(const struct guard_slot *slot, uint64_t address)
{
	if (address < slot->start)
		return slot->start - address;
	return address < slot->start + slot->bytes ? 0 : address - slot->start - slot->bytes + 1;
}

struct guard_slot *slots_nearest(uint64_t address)
{
	uint64_t page = page_number(address);
	struct guard_slot *here = slot_of_page(page), *next = slot_of_page(page + 1);
	if (!here || !next || here == next)
		return here ? here : next;
	return distance_to(next, address) < distance_to(here, address) ? next : here;
}

/* Numbers of stacks are a process's own: those from before a fork mean others in the child. */
static bool has_own_stacks(const struct guard_slot *slot)
{
	return slot->forks == (uint16_t)guard_forks;
}

bool slots_mark_freed(struct guard_slot *slot, uint32_t stack)
{
	uint8_t live = SLOT_LIVE;
	if (!__atomic_compare_exchange_n(
		    &slot->state, &live, SLOT_FREED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	if (!has_own_stacks(slot)) {
		slot->allocated_at = 0;
		slot->forks = (uint16_t)guard_forks;
	}
	slot->freed_at = stack;
	slot->freed_by = guard_tid();
	return true;
}

void slots_close(struct guard_slot *slot)
{
	if (sys_no_calls() || !backend_take(slot_address(slot), slot->pages))
		guard_limit_set(HW_CHECK_LIMIT_LOCKED);
	__atomic_fetch_sub(
		&slots_live_bytes, (uint64_t)slot->pages << GUARD_PAGE_SHIFT, __ATOMIC_RELAXED);
}

void slots_describe(const struct guard_slot *slot, struct guard_block *ret)
{
	*ret = (struct guard_block){.start = slot->start,
		.bytes = slot->bytes,
		.live = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == SLOT_LIVE,
		.guarded = true,
		.alloc_kind = slot->alloc_kind,
		.align_shift = slot->align_shift,
		.allocated_at = has_own_stacks(slot) ? slot->allocated_at : 0,
		.freed_at = has_own_stacks(slot) ? slot->freed_at : 0,
		.allocated_by = slot->allocated_by,
		.freed_by = slot->freed_by};
}

/* Reports the bytes of [at, at + bytes) that are no canary. */
static void check_slack(const struct guard_slot *slot, uint64_t at, uint64_t bytes,
	struct guard_caller caller, uint32_t flags)
{
	uint8_t found[SLACK_CHECKED];
	uint64_t first = 0, last = 0;
	bool changed = false;
	if (!bytes || __atomic_load_n(&slot->reported, __ATOMIC_RELAXED) ||
		!guard_peek(found, at, bytes))
		return;
	for (uint64_t i = 0; i < bytes; i++) {
		if (found[i] == SLACK_CANARY)
			continue;
		first = changed ? first : i;
		last = i;
		changed = true;
	}
	if (!changed || sweep_has_reported(slot->start, at + first))
		return;
	if (flags & HW_ERROR_AT_EXIT)
		sweep_note(slot->start, at + first);
	struct guard_block block;
	slots_describe(slot, &block);
	block.live = true; /* as long as the change can have been made */
	struct hw_error_report report = {.address = at + first,
		.access_bytes = last - first + 1,
		.flags = flags | HW_ERROR_LATE | HW_ERROR_UNSIZED};
	guard_report_block(&report, &block);
	guard_report(HW_ERROR_CANARY, &report, caller);
}

void slots_note_reported(uint64_t address)
{
	struct guard_slot *slot = slots_find(address);
	if (slot)
		__atomic_store_n(&slot->reported, 1, __ATOMIC_RELAXED);
}

void slots_check(const struct guard_slot *slot, struct guard_caller caller, uint32_t flags)
{
	uint64_t at = slot_address(slot), before = slack_before(slot, at);
	check_slack(slot, slot->start - before, before, caller, flags);
	check_slack(slot, slot->start + slot->bytes, slack_after(slot, at), caller, flags);
}

static bool is_slack_whole(uint64_t at, uint64_t bytes)
{
	uint8_t found[SLACK_CHECKED];
	bool whole = guard_peek(found, at, bytes);
	for (uint64_t i = 0; i < bytes && whole; i++)
		whole = found[i] == SLACK_CANARY;
	return whole;
}

/* Its page is left as it is: to write to it would copy it. */
void slots_pass_over(struct guard_slot *slot)
{
	uint64_t at = slot_address(slot), before = slack_before(slot, at);
	if (!is_slack_whole(slot->start - before, before) ||
		!is_slack_whole(slot->start + slot->bytes, slack_after(slot, at)))
		__atomic_store_n(&slot->reported, 1, __ATOMIC_RELAXED);
}

void slots_each(void (*each)(struct guard_slot *slot))
{
	uint64_t pages = __atomic_load_n(&opened_pages, __ATOMIC_ACQUIRE);
	for (uint64_t i = 0; i < pages / 2; i++)
		if (__atomic_load_n(&slots[i].state, __ATOMIC_ACQUIRE) == SLOT_LIVE)
			each(&slots[i]);
}

static void unmap_between(uint64_t first, uint64_t end)
{
	if (first < end)
		sys_call(__NR_munmap, first, end - first, 0);
}

void slots_stop(enum hw_check_limit why)
{
	if (!slots_base || __atomic_exchange_n(&stopped, true, __ATOMIC_RELAXED))
		return;
	if (why)
		guard_limit_set(why);
	if (sys_no_calls() || !rt_lock_try(&opening))
		return;
	/* What others have taken and not opened yet stays unopened. */
	uint64_t used = page_address(opened_pages), end = slots_end;
	__atomic_store_n(&slots_end, used, __ATOMIC_RELAXED); /* others may map there from now on */
	unmap_between(used, end);
	unmap_between((uint64_t)(page_slots + opened_pages), (uint64_t)slots);
	unmap_between((uint64_t)(slots + opened_pages / 2), slots_base);
	rt_unlock(&opening);
}

bool slots_pass(uint64_t address)
{
	return !sys_no_calls() && backend_pass(address & ~(uint64_t)(GUARD_PAGE - 1));
}

void slots_shut(uint64_t page)
{
	if (!sys_no_calls())
		backend_shut(page);
}

bool slots_are_programs(uint64_t address)
{
	const struct guard_slot *slot = slots_find(address);
	return slot && __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == SLOT_LIVE &&
	       address - slot_address(slot) < (uint64_t)slot->pages << GUARD_PAGE_SHIFT;
}

bool slots_refill(uint64_t at, uint64_t bytes)
{
	bool filled = true;
	uint64_t end = page_address(__atomic_load_n(&opened_pages, __ATOMIC_ACQUIRE));
	if (bytes < end - at)
		end = at + bytes;
	for (; at < end; at += GUARD_PAGE)
		if (slots_are_programs(at))
			filled &= backend_refill(at);
	return filled;
}

bool slots_need_refill(void)
{
	return backend_needs_refill();
}

void slots_fork_prepare(void)
{
	if (slots_base)
		rt_lock_try(&opening);
}

void slots_fork_done(bool child)
{
	if (!slots_base)
		return;
	if (!child) {
		rt_lock_abandon(&opening);
		return;
	}
	rt_unlock(&opening);
	if (!backend_fork_child((slots_end - slots_base) >> GUARD_PAGE_SHIFT)) {
		__atomic_store_n(&stopped, true, __ATOMIC_RELAXED);
		guard_limit_set(HW_CHECK_LIMIT_FORK);
	}
}
