/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see leaves.h. May touch: the same. */
#include "runtime/guard/leaves.h"

#include "runtime/guard/calls/calls.h"
#include "runtime/guard/fill.h"

#define COUNTERS 4096u /* a power of 2 */
#define COUNTER_PROBES 32u
#define CHUNK 256u
#define HASH_START 0xcbf29ce484222325u
#define HASH_TIMES 0x100000001b3u

struct leaves_plan leaves_plan;
bool leaves_wanted;
static struct hw_check_leaves *noted; /* NULL: nothing is noted */

/* How many calls of each kind there were. Relaxed; call 0: the place is free. */
static struct {
	uint64_t call, count;
} counters[COUNTERS];

/* A buffer that is handed over. */
struct look {
	const char *name;
	uint64_t from, bytes;
	uint8_t byte;
	uint64_t call, number;
	uint32_t ranges; /* noted so far */
	bool left_out;   /* some were not */
	bool in_block;
	struct guard_block block;
};

static void add_relaxed(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
	for (unsigned i = 0; i < sizeof(word) * 8; i += 8)
		hash = (hash ^ (word >> i & 0xff)) * HASH_TIMES;
	return hash;
}

static uint64_t hash_call(const struct look *look)
{
	uint64_t hash = HASH_START;
	for (const char *c = look->name; *c; c++)
		hash = (hash ^ (uint8_t)*c) * HASH_TIMES;
	hash = hash_word(hash, look->bytes);
	if (look->in_block) {
		hash = hash_word(hash, look->block.bytes);
		hash = hash_word(hash, look->from - look->block.start);
	}
	return hash | 1;
}

/* Returns whether the call has a number now. */
static bool count_call(struct look *look)
{
	uint64_t at = look->call >> 32;
	for (unsigned i = 0; i < COUNTER_PROBES; i++, at++) {
		uint64_t *place = &counters[at % COUNTERS].call, there = 0;
		if (!__atomic_compare_exchange_n(
			    place, &there, look->call, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
			there != look->call)
			continue;
		look->number =
			__atomic_fetch_add(&counters[at % COUNTERS].count, 1, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}

static void note_range(struct look *look, uint64_t first, uint64_t last)
{
	if (look->number >= HW_LEAVES_ALIKE_MOST || look->ranges >= HW_LEAVES_OF_CALL_MOST) {
		look->left_out = true;
		return;
	}
	uint64_t at = __atomic_fetch_add(&noted->found_count, 1, __ATOMIC_RELAXED);
	if (at >= HW_LEAVES_MOST) {
		look->left_out = true;
		return;
	}
	noted->found[at] = (struct hw_leaving_range){look->call, look->number, first, last, 0};
	look->ranges++;
}

/* Notes what has the value of the fill among the bytes from `at` to `end`, exclusive. Ends early
 * if they can't be read, or no more is to be noted. */
static void scan_bytes(struct look *look, uint64_t at, uint64_t end)
{
	uint8_t chunk[CHUNK];
	uint64_t run = 0;
	while (at < end && !look->left_out) {
		uint64_t count = end - at < CHUNK ? end - at : CHUNK;
		if (!guard_peek(chunk, look->from + at, count))
			break;
		for (uint64_t i = 0; i < count; i++, at++) {
			if (chunk[i] == look->byte) {
				run++;
			} else if (run) {
				note_range(look, at - run, at - 1);
				run = 0;
			}
		}
	}
	if (run && !look->left_out)
		note_range(look, at - run, at - 1);
}

/* The first of those that are wanted which is not before this call. */
static uint64_t find_wanted(const struct look *look)
{
	uint64_t low = 0, high = noted->wanted_count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		const struct hw_leaving_range *one = &noted->wanted[middle];
		if (one->call < look->call ||
			(one->call == look->call && one->number < look->number))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void scan_wanted(struct look *look)
{
	for (uint64_t i = find_wanted(look); i < noted->wanted_count; i++) {
		struct hw_leaving_range *one = &noted->wanted[i];
		if (one->call != look->call || one->number != look->number)
			return;
		__atomic_store_n(&one->seen, 1, __ATOMIC_RELAXED);
		uint64_t end = one->last < look->bytes ? one->last + 1 : look->bytes;
		scan_bytes(look, one->first, end);
	}
}

static void note_call(struct look *look)
{
	look->byte = (uint8_t)noted->byte;
	add_relaxed(&noted->calls, 1);
	if (noted->mode == HW_LEAVES_AGAIN)
		scan_wanted(look);
	else
		scan_bytes(look, 0, look->bytes);
	if (look->left_out)
		add_relaxed(&noted->left_out, 1);
}

/* Whether all bytes of a range have the value of the fill. */
static bool is_filled(const struct look *look, const struct hw_leaving_range *range)
{
	uint8_t byte;
	bool filled = range->first <= range->last && range->last < look->bytes;
	for (uint64_t i = range->first; filled && i <= range->last; i++)
		filled = guard_peek(&byte, look->from + i, 1) && byte == look->byte;
	return filled;
}

static void report_range(
	const struct look *look, const struct hw_leaving_range *range, struct guard_caller caller)
{
	struct hw_error_report report = {.address = look->from + range->first,
		.access_bytes = range->last - range->first + 1,
		.flags = HW_ERROR_IN_CALL};
	if (look->in_block)
		guard_report_block(&report, &look->block);
	guard_report_text(&report, look->name);
	guard_report(HW_ERROR_SYSCALL_UNINIT, &report, caller);
}

static void report_call(struct look *look, struct guard_caller caller)
{
	look->byte = (uint8_t)fill_plan.byte;
	for (uint32_t i = 0; i < leaves_plan.report_count; i++) {
		const struct hw_leaving_range *range = &leaves_plan.reports[i];
		if (range->call == look->call && range->number == look->number &&
			is_filled(look, range))
			report_range(look, range, caller);
	}
}

void leaves_look(const char *name, const void *from, uint64_t bytes, struct guard_caller caller)
{
	struct look look = {.name = name, .from = (uint64_t)from, .bytes = bytes};
	uint64_t room = calls_room(from);
	if (!bytes || !room)
		return;
	if (room != CALLS_ANY) {
		look.in_block =
			guard_find(look.from, &look.block) == GUARD_INSIDE && look.block.live;
		if (!look.in_block)
			return; /* another thread has just freed it */
		look.bytes = bytes < room ? bytes : room;
	}
	look.call = hash_call(&look);
	if (!count_call(&look)) {
		if (noted)
			add_relaxed(&noted->uncounted, 1);
		return;
	}
	if (noted)
		note_call(&look);
	else
		report_call(&look, caller);
}

void leaves_init(struct hw_check_leaves *to)
{
	if (to && to->mode != HW_LEAVES_OFF && to->wanted_count <= HW_LEAVES_MOST)
		noted = to;
	leaves_wanted = noted ||
			(guard_settings.started && fill_plan.byte >= 0 && leaves_plan.report_count);
}

void leaves_fork_child(void)
{
	leaves_wanted = false;
}
