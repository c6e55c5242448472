/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what the kernel's maps have by now: stacks, live blocks, mappings, and losses. */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/watch/kmem_events.h"
#include "capture/watch/watch_state.h"
#include "process/clock.h"

static bool mapping_is_own(const struct watch *watch, const struct watch_site *site)
{
	for (uint32_t i = 0; i < site->frames && i < WATCH_FRAMES_MOST; i++) {
		if (module_table_is_allocator(&watch->process.modules, site->pcs[i] - 1, i == 0))
			return true;
	}
	return false;
}

static void stack_name(const struct watch *watch, unsigned number, struct watch_stack *stack)
{
	if (watch->options.is_kernel) {
		stack->function = stack->symbol = kmem_event_name(number);
		return;
	}
	if (number >= watched_function_count)
		return;
	const struct watched_function *function = &watched_functions[number];
	stack->function = function->shown;
	stack->symbol = function->name;
	stack->is_mapping = function->where == WATCHED_LIBC;
}

/* Adds a site that was not known. */
static bool site_add(struct watch *watch, uint64_t key, const struct watch_site *site)
{
	struct watch_stack *stack = watch_stacks_push_uninit(&watch->stacks);
	if (!stack)
		return false;
	*stack = (struct watch_stack){.frames = known_sites_add(&watch->sites, key, site),
		.frame_count = site_frames(site),
		.is_incomplete = site->flags & (WATCH_INCOMPLETE | WATCH_CUT),
		.is_cut = site->flags & WATCH_CUT,
		.is_guessed = site->flags & WATCH_GUESSED};
	if (!stack->frames) {
		watch->stacks.len--;
		return false;
	}
	stack_name(watch, site->function, stack);
	stack->is_own = stack->is_mapping && mapping_is_own(watch, site);
	return true;
}

static void stack_set(
	const struct watch *watch, const struct watch_site *site, struct watch_stack *stack)
{
	bool is_exact = !watch->options.mean_bytes && watch->options.every <= 1;
	stack->all_samples = site->allocs;
	stack->all_bytes = (double)site->alloc_bytes;
	stack->freed_bytes = (double)site->freed_bytes;
	stack->all_blocks = is_exact ? (double)site->allocs
				     : (double)site->alloc_weight / (double)WATCH_WEIGHT_ONE;
	stack->freed_blocks = is_exact ? (double)site->frees
				       : (double)site->freed_weight / (double)WATCH_WEIGHT_ONE;
}

static bool sites_take(void *context, const void *keys, const void *values, size_t count)
{
	struct watch *watch = context;
	const uint64_t *key = keys;
	const struct watch_site *site = values;
	for (size_t i = 0; i < count; i++, key++, site++) {
		size_t number = known_sites_find(&watch->sites, *key);
		if (number == SIZE_MAX && !site_add(watch, *key, site))
			return false;
		number = number == SIZE_MAX ? watch->stacks.len - 1 : number;
		stack_set(watch, site, &watch->stacks.data[number]);
		watch->losses.samples += site->allocs;
		if (watch->stacks.data[number].is_incomplete)
			watch->losses.incomplete += site->allocs;
	}
	return true;
}

/* What a sample of that size stands for (src/bpf/watch.bpf.c, block_weight()). */
static double size_weight(const struct watch *watch, uint64_t size)
{
	const struct watch_options *options = &watch->options;
	if (options->mean_bytes)
		return 1 / -expm1(-((double)size + 1) / (double)options->mean_bytes);
	return options->every > 1 ? options->every : 1;
}

static bool is_old(const struct watch *watch, uint64_t time_ns)
{
	return watch->now_ns >= watch->older_ns && time_ns <= watch->now_ns - watch->older_ns;
}

static bool blocks_take(void *context, const void *keys, const void *values, size_t count)
{
	struct watch *watch = context;
	const uint64_t *address = keys;
	const struct watch_block *block = values;
	for (size_t i = 0; i < count; i++, address++, block++) {
		size_t number = known_sites_find(&watch->sites, block->site);
		/* Its site came after the sites were read: so it is young. */
		if (number == SIZE_MAX || !is_old(watch, block->time_ns))
			continue;
		struct watch_stack *stack = &watch->stacks.data[number];
		double weight = size_weight(watch, block->size);
		stack->live_samples++;
		stack->live_blocks += weight;
		stack->live_bytes += weight * (double)block->size;
		const struct watch_live live = {
			watch->options.is_kernel ? kmem_key_address(*address) : *address,
			block->size, block->time_ns, weight, number};
		if (watch->keeps_blocks && !watch_lives_push(&watch->lives, live))
			return false;
	}
	return true;
}

static struct error *mappings_follow(struct watch *watch)
{
	for (size_t i = 0; i < watch->events.len; i++) {
		const struct watch_event *event = &watch->events.data[i];
		size_t number = known_sites_find(&watch->sites, event->site);
		bool is_own = number != SIZE_MAX && watch->stacks.data[number].is_own;
		struct error *error = watch_mappings_take(&watch->mappings, event, is_own);
		if (error)
			return error;
	}
	watch_events_clear(&watch->events);
	return NULL;
}

static void unmapped_count(struct watch *watch)
{
	for (size_t i = 0; i < watch->mappings.gone.len; i++) {
		const struct watch_unmapped *gone = &watch->mappings.gone.data[i];
		size_t number = known_sites_find(&watch->sites, gone->site);
		if (number == SIZE_MAX)
			continue;
		struct watch_stack *stack = &watch->stacks.data[number];
		stack->all_samples += gone->count;
		stack->all_blocks += (double)gone->count;
		stack->freed_blocks += (double)gone->count;
		stack->all_bytes += (double)gone->bytes;
		stack->freed_bytes += (double)gone->bytes;
	}
}

/* The mappings that there are, each a block of its site. */
static void mappings_count(struct watch *watch)
{
	for (size_t i = 0; i < watch->mappings.all.len; i++) {
		const struct watch_mapping *mapping = &watch->mappings.all.data[i];
		size_t number = known_sites_find(&watch->sites, mapping->site);
		if (number == SIZE_MAX)
			continue;
		struct watch_stack *stack = &watch->stacks.data[number];
		stack->all_samples++;
		stack->all_blocks++;
		stack->all_bytes += (double)mapping->first_bytes;
		stack->freed_bytes += (double)(mapping->first_bytes - mapping->bytes);
		stack->freed_blocks += !mapping->bytes;
		if (!mapping->bytes || !is_old(watch, mapping->time_ns))
			continue;
		stack->live_samples++;
		stack->live_blocks++;
		stack->live_bytes += (double)mapping->bytes;
	}
}

static void stacks_clear(struct watch *watch)
{
	for (size_t i = 0; i < watch->stacks.len; i++) {
		struct watch_stack *stack = &watch->stacks.data[i];
		stack->live_blocks = stack->live_bytes = 0;
		stack->live_samples = 0;
	}
	watch_lives_clear(&watch->lives);
	watch->losses = (struct watch_losses){
		.rows_missing = watch->process.rows_missing, .programs = watch->programs};
}

struct error *watch_losses_read(struct watch *watch)
{
	uint64_t counts[WATCH_COUNTS];
	struct error *error = watch_kernel_counts(&watch->process.kernel, counts);
	if (error)
		return error;
	watch->losses.blocks = counts[WATCH_COUNT_BLOCKS_FULL];
	watch->losses.stacks = counts[WATCH_COUNT_SITES_FULL];
	watch->losses.threads = counts[WATCH_COUNT_THREADS_FULL];
	watch->losses.events = counts[WATCH_COUNT_EVENTS_LOST];
	watch->losses.throwing = counts[WATCH_COUNT_THROWS];
	watch->losses.failed = counts[WATCH_COUNT_FAILED];
	watch->losses.unknown_frees = counts[WATCH_COUNT_UNKNOWN];
	watch->losses.replaced = counts[WATCH_COUNT_REPLACED];
	watch->losses.resizes = counts[WATCH_COUNT_RESIZE_LOST];
	if (watch->options.is_kernel)
		error = watch_kernel_skipped(&watch->process.kernel, &watch->losses.skipped,
			&watch->losses.skipped_is_known);
	return error;
}

/* Blocks first would have sites that are not known yet. Events before sites: those are of sites
 * that are there. */
struct error *watch_look(struct watch *watch, uint64_t older_ns)
{
	stacks_clear(watch);
	watch->older_ns = older_ns;
	struct error *error = watch_kernel_events(&watch->process.kernel);
	watch->now_ns = clock_now_ns();
	if (!error)
		error = watch_kernel_each(
			&watch->process.kernel, WATCH_MAP_SITES, sites_take, watch);
	if (!error)
		error = watch_kernel_each(
			&watch->process.kernel, WATCH_MAP_BLOCKS, blocks_take, watch);
	if (!error)
		error = mappings_follow(watch);
	if (error)
		return error;
	unmapped_count(watch);
	mappings_count(watch);
	return watch_losses_read(watch);
}

struct error *watch_stack_of(struct watch *watch, uint64_t site, size_t *ret)
{
	bool is_found;
	*ret = known_sites_find(&watch->sites, site);
	if (*ret != SIZE_MAX)
		return NULL;
	_cleanup_free_ struct watch_site *found = malloc(sizeof(*found));
	if (!found)
		return error_no_memory();
	struct error *error =
		watch_kernel_find(&watch->process.kernel, WATCH_MAP_SITES, &site, found, &is_found);
	if (error || !is_found)
		return error;
	if (!site_add(watch, site, found))
		return error_no_memory();
	*ret = watch->stacks.len - 1;
	return NULL;
}

const struct watch_stacks *watch_stacks_get(const struct watch *watch)
{
	return &watch->stacks;
}

const struct watch_losses *watch_losses_get(const struct watch *watch)
{
	return &watch->losses;
}

void watch_keep_blocks(struct watch *watch)
{
	watch->keeps_blocks = true;
}

const struct watch_lives *watch_lives_get(const struct watch *watch)
{
	return &watch->lives;
}
