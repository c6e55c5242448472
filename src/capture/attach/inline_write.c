/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/inline_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "process/maps.h"

/* Of a stack, from the stack pointer on; below it what a leaf function may use (AMD64 ABI 1.0,
 * section 3.2.2). */
#define STACK_SCANNED (64u << 20)
#define RED_ZONE 128u
#define WINDOW_WORDS 8192u
/* A jump reaches 2 GiB; what first instructions name may be a little further away. */
#define REACH (0x7fffffffull - (64u << 20))
/* Between what is mapped and its neighbours, so that these don't grow into it at once. */
#define DISTANCE ((uint64_t)64 << 10)
/* As /proc/sys/vm/mmap_min_addr usually is. */
#define LOWEST ((uint64_t)64 << 10)

static bool is_overwritten(const struct inline_plan *plan, uint64_t address)
{
	if (address - plan->code_start >= plan->code_end - plan->code_start)
		return false;
	for (size_t i = 0; i < plan->functions.len; i++) {
		if (inline_patch_is_inside(&plan->functions.data[i].patch, address))
			return true;
	}
	return false;
}

/* Whether a stack has such an address: a signal handler may have interrupted a thread there. True
 * also if it can't be read. */
static bool has_overwritten(const struct injection *in, const struct inline_plan *plan,
	const struct process_maps *maps, uint64_t sp, uint64_t *window)
{
	const struct process_map *map = process_maps_find(maps, sp);
	if (!map)
		return true;
	uint64_t at = sp - RED_ZONE < map->start ? map->start : (sp - RED_ZONE) & ~7ull;
	uint64_t end = map->end - at > STACK_SCANNED ? at + STACK_SCANNED : map->end;
	while (end - at >= 8) {
		size_t words = min((size_t)(end - at) / 8, (size_t)WINDOW_WORDS);
		if (!injection_read(in, at, window, words * 8))
			return true;
		for (size_t i = 0; i < words; i++) {
			if (is_overwritten(plan, window[i]))
				return true;
		}
		at += words * 8;
	}
	return false;
}

const char *inline_find_obstacle(
	const struct injection *in, const struct inline_plan *plan, pid_t *ret_tid)
{
	struct process_maps maps = {.text = NULL};
	_cleanup_free_ uint64_t *window = malloc(WINDOW_WORDS * sizeof(*window));
	const char *obstacle = NULL;
	struct error *error = window ? process_maps_read(in->pid, &maps) : error_no_memory();
	if (error)
		obstacle = "its mappings can't be read";
	error_destroy(error);
	for (size_t i = 0; !obstacle && i < in->stopped.threads.len; i++) {
		const struct stopped_thread *thread = &in->stopped.threads.data[i];
		*ret_tid = thread->tid;
		if (!thread->stopped)
			obstacle = "does not return from the kernel, so where it is is not known";
		else if (is_overwritten(plan, thread->regs.rip))
			obstacle = "is in the middle of what is to be changed";
		else if (has_overwritten(in, plan, &maps, thread->regs.rsp, window))
			obstacle = "may return into the middle of what is to be changed";
	}
	process_maps_deinit(&maps);
	return obstacle;
}

static bool is_in_reach(const struct inline_plan *plan, uint64_t at, uint64_t bytes)
{
	uint64_t low = min(at, plan->code_start);
	uint64_t high = at + bytes > plan->code_end ? at + bytes : plan->code_end;
	return high - low < REACH;
}

/* The end of a gap between mappings, if it has room there and is in reach. */
static uint64_t place_in_gap(
	const struct inline_plan *plan, uint64_t start, uint64_t end, uint64_t bytes)
{
	uint64_t most = plan->code_start + REACH - bytes;
	start = start < LOWEST ? LOWEST : start;
	if (end <= start || end - start < bytes + 2 * DISTANCE)
		return 0;
	uint64_t at = (min(end - DISTANCE, most) - bytes) & ~4095ull;
	return at >= start + DISTANCE && is_in_reach(plan, at, bytes) ? at : 0;
}

uint64_t inline_find_place(
	const struct process_maps *maps, const struct inline_plan *plan, uint64_t bytes)
{
	const struct process_map_vec *all = &maps->maps;
	size_t own = process_maps_first(maps, plan->code_start);
	uint64_t place = 0;
	for (size_t i = own + 1; i-- > 0 && !place && i < all->len;)
		place = place_in_gap(plan, i ? all->data[i - 1].end : 0, all->data[i].start, bytes);
	for (size_t i = own; i + 1 < all->len && !place; i++)
		place = place_in_gap(plan, all->data[i].end, all->data[i + 1].start, bytes);
	return place;
}

static void prepare_function(struct injection *in, const struct inline_function *function,
	const struct attach_image *image)
{
	struct hw_attach *s = in->settings;
	struct inline_patch patch = function->patch;
	unsigned number = function->function;
	uint64_t stub = s->image + image->stubs + (uint64_t)number * HW_ATTACH_STUB_BYTES;
	uint8_t now[INLINE_HEAD_BYTES];
	if (!injection_read(in, patch.address, now, patch.moved) ||
		memcmp(now, function->head, patch.moved) != 0) {
		injection_fail(in, "a function of its allocator was changed just now", EBUSY);
		return;
	}
	if (!inline_patch_make(
		    function->head, s->image + image->inline_hooks[number], stub, &patch)) {
		injection_fail(in, "there is no room near its allocator's functions", ENOMEM);
		return;
	}
	if (!injection_write(in, stub, patch.stub, patch.stub_bytes)) {
		injection_fail(in, "its memory can't be written to", errno);
		return;
	}
	s->original[number] = stub;
	s->patches[number].address = patch.address;
	memcpy(s->patches[number].before, patch.before, sizeof(patch.before));
	memcpy(s->patches[number].jump, patch.after, sizeof(patch.after));
}

void inline_prepare(
	struct injection *in, const struct inline_plan *plan, const struct attach_image *image)
{
	struct hw_attach *s = in->settings;
	memcpy(s->signal_returns, plan->signal_returns, sizeof(s->signal_returns));
	s->plain_kinds = plan->plain_kinds;
	for (size_t i = 0; i < plan->functions.len && !in->error; i++)
		prepare_function(in, &plan->functions.data[i], image);
}

static bool is_fork(unsigned function)
{
	return function == HW_INLINE_FORK;
}

static bool has_jump(const struct injection *in, const struct hw_attach_patch *patch)
{
	uint8_t now[INLINE_JUMP_BYTES];
	return patch->address && injection_read(in, patch->address, now, sizeof(now)) &&
	       !memcmp(now, patch->jump, sizeof(now));
}

static bool put_back_one(const struct injection *in, const struct hw_attach_patch *patch)
{
	return injection_write(in, patch->address, patch->before, INLINE_JUMP_BYTES);
}

void inline_write_jumps(struct injection *in)
{
	const struct hw_attach *s = in->settings;
	size_t left = 0;
	for (unsigned i = 0; i < HW_INLINE_FUNCTIONS && !in->error; i++) {
		const struct hw_attach_patch *patch = &s->patches[i];
		if (patch->address &&
			!injection_write(in, patch->address, patch->jump, INLINE_JUMP_BYTES))
			injection_fail(in, "its code can't be written to", errno);
	}
	if (in->error) {
		(void)inline_put_back(in, false, &left);
		(void)inline_put_back(in, true, &left);
	}
}

size_t inline_put_back(const struct injection *in, bool last, size_t *ret_left)
{
	size_t count = 0;
	for (unsigned i = 0; i < HW_INLINE_FUNCTIONS; i++) {
		const struct hw_attach_patch *patch = &in->settings->patches[i];
		if (!patch->address || is_fork(i) != last)
			continue;
		if (has_jump(in, patch) && put_back_one(in, patch))
			count++;
		else
			++*ret_left;
	}
	return count;
}

bool inline_has_jumps(const struct injection *in)
{
	bool has = false;
	for (unsigned i = 0; i < HW_INLINE_FUNCTIONS; i++)
		has |= has_jump(in, &in->settings->patches[i]);
	return has;
}

void inline_write_frames(
	struct injection *in, const struct frame_entry_vec *frames, struct hw_attach_object *row)
{
	const struct hw_attach *s = in->settings;
	if (in->error || !s->tables)
		return;
	_cleanup_free_ uint8_t *table = malloc(s->tables_bytes);
	if (!table || !frame_table_make(frames, s->tables, table, s->tables_bytes))
		return; /* stacks end in the program's frames, which is seen */
	if (!injection_write(in, s->tables, table, frame_table_bytes(frames->len))) {
		injection_fail(in, "its memory can't be written to", errno);
		return;
	}
	row->eh_frame_hdr = row->tables = s->tables;
	memcpy(&row->eh_frame_word, table, sizeof(row->eh_frame_word));
}
