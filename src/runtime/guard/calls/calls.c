/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see calls.h. May touch: the same. */
#include "runtime/guard/calls/calls.h"

#include "runtime/guard/plain.h"

#include <dlfcn.h>
#include <immintrin.h>

/* --- how much room there is --- */

#define MARKS_OF_PAGE (GUARD_PAGE >> TABLE_GRAIN_SHIFT)
#define ROOM_NONE 0

/* It may be given back meanwhile by another thread, if it is not the block that is asked for. */
static uint64_t bytes_of_plain(uint64_t start)
{
	return plain_bytes(guard_peek_word(start - sizeof(struct plain_header)));
}

static uint64_t room_in(uint64_t start, uint64_t bytes, uint64_t address)
{
	return address - start < bytes ? bytes - (address - start) : ROOM_NONE;
}

static uint64_t end_of_canary(uint64_t start, uint64_t bytes)
{
	return (start + bytes + 15) / 16 * 16 + 8;
}

/* In full: also what is right next to a block, in its header and its canary, is no memory for the
 * program. Beyond that is what nobody knows of. */
static uint64_t find_room(uint64_t address)
{
	struct guard_block block;
	switch (guard_find(address, &block)) {
	case GUARD_INSIDE:
		if (!block.live)
			return ROOM_NONE;
		return room_in(block.start, block.bytes, address);
	case GUARD_AFTER:
		return block.live && address < end_of_canary(block.start, block.bytes) ? ROOM_NONE
										       : CALLS_ANY;
	case GUARD_BEFORE:
		return ROOM_NONE;
	default:
		return CALLS_ANY;
	}
}

/* Whether an address is in the header of the block that begins behind it. */
static bool is_in_header(uint64_t address)
{
	const uint8_t *mark = table_mark((address | 15) + 1);
	uint8_t is = mark ? __atomic_load_n(mark, __ATOMIC_ACQUIRE) : (uint8_t)TABLE_NONE;
	return is == TABLE_LIVE || is == TABLE_FREED;
}

/* The room, if the only block that the address can be in or right after begins at `start`. */
static uint64_t room_of(uint64_t start, uint64_t address)
{
	const uint8_t *mark = table_mark(start);
	uint8_t is = mark ? __atomic_load_n(mark, __ATOMIC_ACQUIRE) : (uint8_t)TABLE_NONE;
	if (rt_unlikely(is == TABLE_FREED))
		return find_room(address);
	uint64_t bytes = is == TABLE_LIVE ? bytes_of_plain(start) : 0;
	uint64_t room = room_in(start, bytes, address);
	if (rt_likely(room))
		return room;
	if (is == TABLE_LIVE && address < end_of_canary(start, bytes))
		return find_room(address);
	return is_in_header(address) ? find_room(address) : CALLS_ANY;
}

/* The room in a block that contains the address, if `start` is that of one. */
static uint64_t room_in_live(uint64_t start, uint64_t address)
{
	const uint8_t *mark = table_mark(start);
	if (!mark || __atomic_load_n(mark, __ATOMIC_ACQUIRE) != TABLE_LIVE)
		return ROOM_NONE;
	return room_in(start, bytes_of_plain(start), address);
}

static __attribute__((noinline)) uint64_t room_without_mark(
	uint64_t address, const struct table_leaf *leaf)
{
	if (rt_unlikely(__atomic_load_n(&table_has_uncovered, __ATOMIC_RELAXED)))
		return find_room(address);
	return room_of(table_covering(leaf, address), address);
}

/* Of 16 marks, those of blocks that are live and those of blocks that are freed and kept. */
struct marks {
	uint32_t live, freed;
};

static inline struct marks load_marks(const struct table_leaf *leaf, uint64_t at)
{
	__m128i marks = _mm_load_si128((const __m128i *)(leaf->marks + at));
	__m128i live = _mm_cmpeq_epi8(marks, _mm_set1_epi8(TABLE_LIVE));
	__m128i freed = _mm_cmpeq_epi8(marks, _mm_set1_epi8(TABLE_FREED));
	return (struct marks){
		(uint32_t)_mm_movemask_epi8(live), (uint32_t)_mm_movemask_epi8(freed)};
}

static bool resolved; /* libc's functions are known; release */
uint16_t calls_often[CALLS_OFTEN] __attribute__((aligned(64)));
/* Part of the address << 16 | calls. Relaxed: threads that count in each other's way lose a few. */
static uint32_t calls_places[CALLS_SETS][CALLS_WAYS] __attribute__((aligned(64)));

/* The counter of a place. */
static uint32_t *find_place(uint32_t *set, uint32_t tag)
{
	uint32_t *least = set;
	for (unsigned i = 0; i < CALLS_WAYS; i++) {
		uint32_t was = __atomic_load_n(&set[i], __ATOMIC_RELAXED);
		if (was && (was ^ tag) >> 16 == 0)
			return &set[i];
		if ((was & UINT16_MAX) < (__atomic_load_n(least, __ATOMIC_RELAXED) & UINT16_MAX))
			least = &set[i];
	}
	__atomic_store_n(least, tag, __ATOMIC_RELAXED);
	return least;
}

void calls_count(uint64_t hash)
{
	uint32_t *place = find_place(
		calls_places[hash >> 43 & (CALLS_SETS - 1)], (uint32_t)(hash >> 16) << 16);
	uint32_t was = __atomic_load_n(place, __ATOMIC_RELAXED);
	if ((was & UINT16_MAX) < CALLS_NOTED)
		__atomic_store_n(place, was + 1, __ATOMIC_RELAXED);
	else if (!guard_settings.full && __atomic_load_n(&resolved, __ATOMIC_ACQUIRE))
		__atomic_store_n(
			&calls_often[hash >> 53], (uint16_t)(hash >> 32 | 1), __ATOMIC_RELAXED);
}

/*
 * The block is a large one that the page's note names, or that of the nearest mark in the page, or
 * one that reaches into it: two or three loads tell for nearly all addresses. The header in the
 * address's own page or right before it is as readable as the address.
 */
uint64_t calls_room_in_leaf(uint64_t address, const struct table_leaf *leaf)
{
	uint64_t index = (address >> TABLE_GRAIN_SHIFT) % TABLE_MARKS, at = index & ~15ull;
	uint64_t guess = table_guess(leaf, address);
	if (guess) {
		uint64_t room = room_in_live(guess, address);
		if (rt_likely(room))
			return room;
	}
	struct marks m = load_marks(leaf, at);
	uint32_t found = (m.live | m.freed) & ((2u << (index & 15)) - 1);
	while (!found) {
		if (!(at % MARKS_OF_PAGE))
			return room_without_mark(address, leaf);
		at -= 16;
		m = load_marks(leaf, at);
		found = m.live | m.freed;
	}
	uint32_t bit = 31 - (uint32_t)__builtin_clz(found);
	uint64_t start = address - ((index - at - bit) << TABLE_GRAIN_SHIFT);
	start &= ~15ull;
	if (rt_likely(m.live >> bit & 1)) {
		uint64_t room = room_in(start,
			plain_bytes(((const struct plain_header *)start)[-1].first), address);
		if (rt_likely(room))
			return room;
	}
	return room_of(start, address);
}

uint64_t calls_room_in_slot(uint64_t address)
{
	const struct guard_slot *slot = slots_find(address);
	if (!slot || __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != SLOT_LIVE)
		return ROOM_NONE;
	return room_in(slot->start, slot->bytes, address);
}

/* --- what is wrong --- */

/* The part of a range that begins with its first byte outside. */
struct outside {
	uint64_t address, bytes;
};

#define OPENED_MOST 1024u /* pages: what goes on for longer is reported again where it does */
/* A string without an end finds one in the first page that is made accessible. */
#define OPENED_FOR_STRINGS (2ul * GUARD_PAGE)

/* Makes the guarded pages of a range accessible, so that the function that is called next does not
 * fault. */
static void open_pages(uint64_t address, uint64_t bytes)
{
	uint64_t page = address & ~(uint64_t)(GUARD_PAGE - 1);
	for (unsigned i = 0; i < OPENED_MOST && slots_have(page); i++, page += GUARD_PAGE) {
		if (page > address && page - address >= bytes)
			return;
		slots_pass(page);
	}
}

static bool find_outside(const void *from, uint64_t bytes, struct outside *ret)
{
	uint64_t room = calls_room(from);
	if (bytes <= room)
		return false;
	*ret = (struct outside){(uint64_t)from + room, bytes - room};
	return true;
}

/* What is written is known now: it shall not be reported again when the block is freed. */
static void note_reported(const struct guard_block *block)
{
	if (block->guarded)
		slots_note_reported(block->start);
	else
		plain_note_reported(block->start);
}

static void report_outside(enum hw_error_kind kind, const char *name, struct outside outside,
	bool written, uint32_t flags, struct guard_caller caller)
{
	struct guard_block block;
	struct hw_error_report report = {.address = outside.address,
		.access_bytes = outside.bytes,
		.flags = HW_ERROR_IN_CALL | flags};
	/* What is outside begins where the block ends, which may be where another begins. */
	enum guard_where where = guard_find(outside.address - 1, &block);
	if (where != GUARD_INSIDE || !block.live)
		where = guard_find(outside.address, &block);
	if (where != GUARD_NOWHERE)
		guard_report_block(&report, &block);
	guard_report_text(&report, name);
	guard_report(kind, &report, caller);
	if (written && where != GUARD_NOWHERE)
		note_reported(&block);
	open_pages(outside.address, flags & HW_ERROR_UNSIZED ? OPENED_FOR_STRINGS : outside.bytes);
}

static bool check_extent(enum hw_error_kind kind, const char *name, const void *from,
	uint64_t bytes, bool written, struct guard_caller caller)
{
	struct outside outside;
	if (rt_likely(!find_outside(from, bytes, &outside)))
		return false;
	report_outside(kind, name, outside, written, 0, caller);
	return true;
}

bool calls_check_read(
	const char *name, const void *from, uint64_t bytes, struct guard_caller caller)
{
	return check_extent(HW_ERROR_READ, name, from, bytes, false, caller);
}

bool calls_check_write(const char *name, void *to, uint64_t bytes, struct guard_caller caller)
{
	return check_extent(HW_ERROR_WRITE, name, to, bytes, true, caller);
}

bool calls_check_buffer(const char *name, const void *buffer, uint64_t bytes, bool leaves,
	struct guard_caller caller)
{
	return check_extent(HW_ERROR_SYSCALL, name, buffer, bytes, !leaves, caller);
}

void calls_report_endless(const char *name, const void *end, struct guard_caller caller)
{
	report_outside(HW_ERROR_READ, name, (struct outside){(uint64_t)end, 1}, false,
		HW_ERROR_UNSIZED, caller);
}

void calls_report_name(const char *name, const void *end, struct guard_caller caller)
{
	report_outside(HW_ERROR_SYSCALL, name, (struct outside){(uint64_t)end, 1}, false,
		HW_ERROR_UNSIZED, caller);
}

void calls_check_overlap(const char *name, const void *to, uint64_t written, const void *from,
	uint64_t read, struct guard_caller caller)
{
	if (rt_likely(!calls_overlap(to, written, from, read)))
		return;
	struct guard_block block;
	struct hw_error_report report = {.address = (uint64_t)to,
		.source = (uint64_t)from,
		.access_bytes = written,
		.flags = HW_ERROR_IN_CALL};
	if (guard_find((uint64_t)to, &block) == GUARD_INSIDE)
		guard_report_block(&report, &block);
	guard_report_text(&report, name);
	guard_report(HW_ERROR_OVERLAP, &report, caller);
}

/* --- libc's functions --- */

extern const struct calls_real __start_guard_calls[] __attribute__((visibility("hidden")));
extern const struct calls_real __stop_guard_calls[] __attribute__((visibility("hidden")));

/* In the file it is NULL: ld.so has been here if it is not. */
static void *const volatile relocated = (void *)&resolved;

static __attribute__((constructor)) void resolve_calls(void)
{
	for (const struct calls_real *r = __start_guard_calls; r < __stop_guard_calls; r++)
		if (!*r->place)
			__atomic_store_n(r->place, dlsym(RTLD_NEXT, r->name), __ATOMIC_RELAXED);
	__atomic_store_n(&resolved, true, __ATOMIC_RELEASE);
}

bool calls_resolve(void)
{
	if (!__atomic_load_n(&resolved, __ATOMIC_ACQUIRE)) {
		if (!relocated)
			return false;
		resolve_calls();
	}
	return true;
}
