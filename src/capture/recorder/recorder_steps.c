/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the merge tells, step by step: each goes to the live table, the counters and the encoder. */
#include "capture/recorder/recorder_impl.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "capture/recorder/drain_fast_path.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(
	HPW_SITES_MAX < LIVE_SITES_MAX, "a block knows its site: tally_site() gives none beyond");

/* Parents are smaller, so this ends. */
uint32_t recorder_want_stack(struct recorder *r, uint32_t stack)
{
	const struct hw_node *nodes = r->source->nodes;
	if (stack >= r->source->nodes_max) {
		r->stacks_bad++;
		return 0;
	}
	for (uint32_t id = stack; id && !(r->stacks_known[id / 8] >> (id % 8) & 1);) {
		if (r->stacks_count == r->stacks_capacity) {
			size_t capacity = r->stacks_capacity ? r->stacks_capacity * 2 : 1024;
			uint32_t *moved = realloc(r->stacks, capacity * sizeof(*moved));
			if (!moved)
				return 0;
			r->stacks = moved;
			r->stacks_capacity = capacity;
		}
		r->stacks_known[id / 8] |= (uint8_t)(1 << (id % 8));
		r->stacks[r->stacks_count++] = id;
		uint64_t frame = __atomic_load_n(&nodes[id].frame, __ATOMIC_RELAXED);
		if (frame >= HW_MARK_FRAMES && frame <= HW_FRAME_ADDRESS_MASK &&
			!pool_is_frame(frame))
			code_names_note(&r->code_names, r->pid, r->target_pid, frame);
		uint32_t parent = __atomic_load_n(&nodes[id].parent, __ATOMIC_RELAXED);
		if (parent >= id) {
			r->stacks_bad++;
			break;
		}
		id = parent;
	}
	return stack;
}

static inline uint32_t site_of(struct recorder *r, uint32_t stack, enum hw_alloc_kind kind)
{
	uint32_t before = r->tally.site_count;
	if (stack >= r->source->nodes_max)
		stack = recorder_want_stack(r, stack);
	uint32_t site = tally_site(&r->tally, stack, kind);
	if (__builtin_expect(site == UINT32_MAX && stack, 0)) {
		r->stacks_bad++;
		stack = 0;
		site = tally_site(&r->tally, stack, kind);
	}
	if (r->tally.site_count != before)
		recorder_want_stack(r, stack);
	return site;
}

static inline void after_step(struct recorder *r)
{
	r->tally.steps++;
	if (__builtin_expect(r->encoder.steps >= r->chunk_steps, 0))
		recorder_flush(r);
}

void recorder_read_name(const struct recorder *r, struct tally_thread *t)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", (int)r->pid, t->tid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char name[sizeof(t->name) + 1] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, name, sizeof(t->name));
	if (n <= 0)
		return;
	if (name[n - 1] == '\n')
		n--;
	memset(t->name, 0, sizeof(t->name));
	memcpy(t->name, name, (size_t)n < sizeof(t->name) ? (size_t)n : sizeof(t->name) - 1);
}

/* What the thread with that id said itself when it began; false: it said nothing. */
static bool name_of_source(const struct recorder *r, struct tally_thread *t)
{
	const struct event_source_ops *ops = r->source->ops;
	char name[EVENT_THREAD_NAME_BYTES];
	if (!ops->thread_name || !ops->thread_name(r->source, t->tid, name))
		return false;
	_Static_assert(sizeof(t->name) >= sizeof(name), "it fits");
	memcpy(t->name, name, sizeof(name));
	t->name[sizeof(name) - 1] = 0;
	return t->name[0];
}

/* A row of several threads has the name that all of them had. */
static void name_row(const struct recorder *r, struct tally_thread *t)
{
	char before[sizeof(t->name)];
	memcpy(before, t->name, sizeof(before));
	memset(t->name, 0, sizeof(t->name));
	if (!name_of_source(r, t))
		recorder_read_name(r, t);
	if (t->threads > 1 && memcmp(before, t->name, sizeof(before)) != 0)
		memset(t->name, 0, sizeof(t->name));
}

static uint32_t on_thread(void *context, uint32_t tid, uint64_t stamp)
{
	struct recorder *r = context;
	uint32_t thread = tally_thread_new(&r->tally, tid, stamp);
	if (thread == UINT32_MAX)
		return MERGE_NO_THREAD;
	name_row(r, &r->tally.threads[thread]);
	r->tally.threads[thread].stack_bytes = r->tally.threads[thread].stack_used = 0;
	/* A row that was another thread's goes on counting. */
	encode_thread(&r->encoder, thread, r->tally.threads[thread].allocations,
		HPW_SP_THREAD_START, stamp);
	after_step(r);
	return thread;
}

static void on_thread_end(void *context, uint32_t thread, uint64_t stamp)
{
	struct recorder *r = context;
	lsan_annotations_thread_end(&r->annotations, thread, r->tally.threads[thread].allocations);
	tally_thread_end(&r->tally, thread);
	encode_thread(&r->encoder, thread, r->tally.threads[thread].allocations, HPW_SP_THREAD_END,
		stamp);
	after_step(r);
}

/* Returns what freed a block, where CPython's allocator gave it or takes it: whichever way the
 * interpreter got it or gives it back, it is the interpreter's. */
static enum hw_free_kind kind_of_python_free(enum hw_free_kind kind, enum hw_alloc_kind allocated)
{
	if (kind == HW_FREE_PYTHON_REALLOC)
		return HW_FREE_REALLOC;
	if (kind == HW_FREE && hw_alloc_is_python(allocated))
		return HW_FREE_PYTHON;
	return kind == HW_FREE_PYTHON && !hw_alloc_is_python(allocated) ? HW_FREE : kind;
}

/* Returns the function that freed a block of kind `allocated`, for the check of mismatches: a
 * delete of a block that an allocator's own operator new got by malloc or the like is no mismatch
 * (HW_NOTE_OPERATORS). */
static inline enum hw_free_kind kind_of_free(
	const struct recorder *r, enum hw_free_kind kind, enum hw_alloc_kind allocated)
{
	if (__builtin_expect(hw_free_is_python(kind) || hw_alloc_is_python(allocated), 0))
		return kind_of_python_free(kind, allocated);
	bool deletes = kind == HW_DELETE || kind == HW_DELETE_ARRAY;
	if (__builtin_expect(deletes && hw_matching_free(allocated) == HW_FREE, 0) &&
		((unsigned)allocated == HW_ALLOC_UNKNOWN ||
			event_source_notes(r->source) & HW_NOTE_OPERATORS))
		return HW_FREE;
	return kind;
}

static struct samples_block sampled_block(
	const struct recorder *r, uint32_t site, uint32_t thread, uint64_t size)
{
	return (struct samples_block){.site = site,
		.thread = thread,
		.size = size,
		.mean_bytes = (double)r->mode.sample_bytes};
}

static void estimate_alloc(struct recorder *r, uint32_t site, uint32_t thread, uint64_t size)
{
	const struct samples_block block = sampled_block(r, site, thread, size);
	double bytes = recorder_weighted_bytes(r, size);
	r->estimate.allocated += bytes;
	r->estimate.live += bytes;
	r->estimate.peak = max(r->estimate.peak, r->estimate.live);
	samples_alloc(&r->samples, &block);
}

static void estimate_free(struct recorder *r, uint32_t site, uint32_t thread, uint64_t size)
{
	const struct samples_block block = sampled_block(r, site, thread, size);
	r->estimate.live -= recorder_weighted_bytes(r, size);
	samples_free(&r->samples, &block);
}

static void estimate_failed(struct recorder *r, uint32_t site, uint64_t size)
{
	const struct samples_block block = sampled_block(r, site, 0, size);
	samples_failed(&r->samples, &block);
}

/* `block` (NULL: none known at `address`) has been given back and is no longer in the table. */
static inline void free_block(struct recorder *r, uint32_t thread, uint64_t address,
	const struct live_entry *block, enum hw_free_kind kind, bool same_frame, uint64_t stamp)
{
	uint64_t allocations = r->tally.threads[thread].allocations;
	struct encode_free e = {.thread = thread,
		.allocations = allocations,
		.same_frame = same_frame,
		.special_kind = -1,
		.stamp = stamp};
	if (__builtin_expect(!block && recorder_has_unseen(r), 0)) {
		r->stopped_frees++;
		return;
	}
	if (__builtin_expect(!block && hw_free_is_python(kind), 0))
		return; /* of an object from before: nothing is known of it, nothing is wrong */
	if (!block) {
		r->tally.unknown_frees++;
		account_unknown_free(&r->tally.threads[thread].calls);
		e.special_kind = kind == HW_FREE ? -1 : (int)kind;
		if (!recorder_is_guarded(r))
			bad_frees_unknown(&r->bad_frees, address, thread, kind, stamp);
	} else {
		bool mismatched = false;
		kind = kind_of_free(r, kind, r->tally.sites[block->site].kind);
		enum hw_free_kind expected = hw_matching_free(r->tally.sites[block->site].kind);
		if (__builtin_expect(kind != expected, 0)) {
			e.special_kind = (int)kind;
			mismatched = !hw_free_is_realloc(kind) ||
				     (expected != HW_FREE && expected != HW_FREE_PYTHON);
			r->tally.mismatched += mismatched;
		}
		if (mismatched && !recorder_is_guarded(r))
			bad_frees_mismatch(
				&r->bad_frees, address, block->site, thread, kind, stamp);
		else if (r->bad_frees.all)
			bad_frees_note(&r->bad_frees, address, block->site, thread, kind);
		bad_frees_pass(&r->bad_frees, address, block->site, thread);
		if (r->mode.kind == MODE_SAMPLE)
			estimate_free(r, block->site, thread, block->size);
		if (__builtin_expect(r->heap_pages.is_on, 0))
			heap_pages_remove(
				&r->heap_pages, block->size, recorder_weight(r, block->size));
		e.known = true;
		e.owner = block->thread;
		e.number = block->number;
		e.site = block->site;
		e.size = block->size;
		tally_free(
			&r->tally, &(struct tally_free){.site = block->site,
					   .thread = thread,
					   .stamp = stamp,
					   .block = {.size = block->size,
						   .temporary = e.owner == thread &&
								e.number + 1 == allocations &&
								!r->tally.threads[thread].fresh &&
								!hw_free_is_realloc(kind),
						   .same_frame = same_frame}});
	}
	r->sums.calls++;
	r->tally.threads[thread].in_realloc = kind == HW_FREE_REALLOC;
	encode_free(&r->encoder, &e);
	after_step(r);
}

void recorder_free_block(struct recorder *r, uint32_t thread, uint64_t address,
	const struct live_entry *block, enum hw_free_kind kind, uint64_t stamp)
{
	free_block(r, thread, address, block, kind, false, stamp);
}

static void on_moving(void *context, uint32_t thread, uint64_t address)
{
	struct recorder *r = context;
	/* Else its end will have to do. */
	moving_begin(&r->moving, &r->live, thread, address);
}

/* Nothing became of a realloc; or its result is unknown: then it succeeded, if another block has
 * its place. */
static void free_moved_block(
	struct recorder *r, uint32_t thread, const struct moving_block *moved, uint64_t stamp)
{
	enum live_added added = live_table_add(&r->live, &moved->block);
	if (added == LIVE_OCCUPIED) {
		r->frees_added++;
		free_block(r, thread, moved->block.address, &moved->block, HW_FREE_REALLOC, false,
			stamp);
	}
	r->blocks_dropped += added == LIVE_NO_MEMORY;
}

/* The thread's latest realloc failed. */
static void moving_failed(struct recorder *r, uint32_t thread, uint64_t stamp)
{
	struct moving_block moved;
	if (moving_end(&r->moving, thread, 0, &moved) && moved.known)
		free_moved_block(r, thread, &moved, stamp);
}

/* Of reallocs on the shared ring. */
static void end_moving(struct recorder *r, uint64_t stamp)
{
	struct moving_block moved;
	for (uint32_t thread; moving_any(&r->moving, &thread);) {
		if (!moving_end(&r->moving, thread, 0, &moved))
			return;
		if (moved.known)
			free_moved_block(r, thread, &moved, stamp);
		else
			free_block(r, thread, moved.block.address, NULL, HW_FREE_REALLOC, false,
				stamp);
	}
}

/*
 * Of the others. A block that is live still is one whatever the realloc has come to; what isn't
 * was none when the realloc began: that was an error, and often the end of the process.
 */
void recorder_end_reallocs(struct recorder *r, uint64_t stamp)
{
	end_moving(r, stamp);
	if (r->cut.done) /* they go on */
		return;
	/* A lane after these has never had a thread. */
	for (uint32_t lane = 0; lane < r->merge.lane_count; lane++) {
		struct merge_realloc open;
		struct live_entry block;
		if (!merge_open_realloc(&r->merge, lane, stamp, &open) ||
			live_table_find(&r->live, open.address, &block))
			continue;
		free_block(r, open.thread, open.address, NULL, HW_FREE_REALLOC, false, stamp);
		bad_frees_moved(&r->bad_frees, open.thread, open.stack);
	}
}

static __attribute__((flatten)) void on_free(void *context, uint32_t thread, enum hw_free_kind kind,
	bool same_frame, uint64_t address, uint64_t stamp)
{
	struct recorder *r = context;
	struct live_entry block;
	struct moving_block moved;
	if (__builtin_expect(r->moving.len && hw_free_is_realloc(kind), 0) &&
		moving_end(&r->moving, thread, address, &moved)) {
		free_block(r, thread, address, moved.known ? &moved.block : NULL, kind, same_frame,
			stamp);
		return;
	}
	if (__builtin_expect(r->pools.covers.len, 0) &&
		recorder_free_covered(r, thread, kind, address, stamp))
		return;
	bool known = live_table_take(&r->live, address, &block);
	free_block(r, thread, address, known ? &block : NULL, kind, same_frame, stamp);
}

/* The address of a new block is that of another one. */
static enum live_added add_at_occupied(
	struct recorder *r, const struct live_entry *block, uint64_t stamp)
{
	struct live_entry old = {.address = 0};
	bool reports = r->shm && r->shm->notes & HW_NOTE_BLOCKS;
	bool found = live_table_find(&r->live, block->address, &old);
	if (reports && found && recorder_cover(r, &old))
		return live_table_add(&r->live, block);
	/* Its free was lost, or came out of order, or was in a realloc that a kill cut off. */
	if (r->in_flight)
		r->in_flight--;
	else
		r->tally.repairs +=
			!recorder_has_lost(r) && !r->is_over && !recorder_mistook(r, &old);
	r->frees_added++;
	live_table_take(&r->live, block->address, &old);
	free_block(r, block->thread, block->address, &old,
		hw_matching_free(r->tally.sites[old.site].kind), false, stamp);
	return live_table_add(&r->live, block);
}

static __attribute__((flatten)) void on_alloc(void *context, uint32_t thread,
	enum hw_alloc_kind kind, uint64_t address, uint32_t stack, uint64_t size, uint64_t stamp)
{
	struct recorder *r = context;
	if (__builtin_expect(r->stopped, 0)) {
		r->tally.threads[thread].in_realloc = false;
		return;
	}
	uint32_t site = site_of(r, stack, kind);
	if (__builtin_expect(site == UINT32_MAX, 0)) {
		r->blocks_dropped++;
		return;
	}
	uint64_t number = r->tally.threads[thread].allocations;
	const struct live_entry block = {
		.address = address, .size = size, .thread = thread, .number = number, .site = site};
	enum live_added added = address ? live_table_add(&r->live, &block) : LIVE_NO_MEMORY;
	if (__builtin_expect(added == LIVE_OCCUPIED, 0))
		added = add_at_occupied(r, &block, stamp);
	r->blocks_dropped += added != LIVE_ADDED;
	if (r->mode.kind == MODE_SAMPLE)
		estimate_alloc(r, site, thread, size);
	if (__builtin_expect(r->heap_pages.is_on, 0))
		heap_pages_add(&r->heap_pages, size, recorder_weight(r, size));
	bool *in_realloc = &r->tally.threads[thread].in_realloc;
	bool is_of_realloc = *in_realloc && kind == HW_REALLOC;
	r->sums.calls += !is_of_realloc;
	if (__builtin_expect(is_of_realloc, 0))
		bad_frees_moved(&r->bad_frees, thread, stack);
	*in_realloc = false;
	encode_alloc(&r->encoder, thread, number, site, size, stamp);
	uint64_t peak = r->tally.heap.peak_epoch;
	tally_alloc(&r->tally, site, thread, size, stamp);
	if (r->tally.heap.peak_epoch != peak)
		r->tally.peak_stamp =
			encoder_peak(&r->encoder, r->encoder.steps - 1, r->tally.peak_stamp);
	after_step(r);
}

void recorder_on_alloc(void *context, uint32_t thread, enum hw_alloc_kind kind, uint64_t address,
	uint32_t stack, uint64_t size, uint64_t stamp)
{
	on_alloc(context, thread, kind, address, stack, size, stamp);
}

static void on_failed(void *context, uint32_t thread, enum hw_alloc_kind kind, uint32_t stack,
	uint64_t size, uint64_t stamp)
{
	struct recorder *r = context;
	if (r->stopped) {
		if (kind == HW_REALLOC && r->moving.len)
			moving_failed(r, thread, stamp);
		return;
	}
	uint32_t site = site_of(r, stack, kind);
	if (site == UINT32_MAX)
		return;
	tally_failed(&r->tally, site, size);
	if (r->mode.kind == MODE_SAMPLE)
		estimate_failed(r, site, size);
	r->sums.calls++;
	r->tally.threads[thread].in_realloc = false;
	if (kind == HW_REALLOC && r->moving.len)
		moving_failed(r, thread, stamp);
	encode_failed(&r->encoder, thread, r->tally.threads[thread].allocations, site, size, stamp);
	after_step(r);
}

static void on_lost(void *context, uint32_t thread, uint64_t count, uint64_t stamp)
{
	struct recorder *r = context;
	if (count > recorder_now(r).tsc - r->began.tsc) { /* no processor does that */
		r->merge.damaged++;
		return;
	}
	r->tally.lost += count;
	encode_lost(&r->encoder, thread, r->tally.threads[thread].allocations, count, stamp);
	after_step(r);
}

static void on_annotation(
	void *context, uint32_t thread, uint32_t what, uint64_t address, uint64_t bytes)
{
	struct recorder *r = context;
	if (what == HW_ANNOTATE_LINE) {
		if (!traced_lines_add(&r->traced_lines, thread, address, bytes))
			recorder_keep_error(r, error_no_memory());
	} else if (what == HW_ANNOTATE_FREED_FROM)
		bad_frees_stack(&r->bad_frees, address, thread, (uint32_t)bytes);
	else if (what == HW_ANNOTATE_CHECK)
		check_starts_add(&r->checks, address, &r->tally);
	else if (what == HW_ANNOTATE_CHECK_END)
		check_starts_remove(&r->checks, address);
	else if (!lsan_annotations_add(&r->annotations, &r->live, thread,
			 r->tally.threads[thread].allocations, (enum hw_annotation)what, address,
			 bytes))
		recorder_keep_error(r, error_no_memory());
}

/* Names that begin so are ours. */
static bool is_mark_of_fork(const char *name, size_t bytes)
{
	size_t prefix = strlen(HPW_MARK_FORK);
	return bytes >= prefix && memcmp(name, HPW_MARK_FORK, prefix) == 0;
}

void recorder_put_mark(
	struct recorder *r, uint32_t thread, const char *name, size_t bytes, uint64_t stamp)
{
	const struct encode_mark mark = {.name = name,
		.name_bytes = bytes,
		.live_blocks = r->tally.heap.live_blocks,
		.live_bytes = r->tally.heap.live_bytes};
	encode_mark(&r->encoder, thread, r->tally.threads[thread].allocations, &mark, stamp);
	r->marks += !r->folds && !is_mark_of_fork(name, bytes);
	after_step(r);
}

static void on_mark(void *context, uint32_t thread, const char *name, size_t bytes, uint64_t stamp)
{
	if (is_mark_of_fork(name, bytes))
		return;
	char string[HW_MARK_NAME_MAX + 1];
	snprintf(string, sizeof(string), "%.*s", (int)bytes, name);
	_cleanup_(text_deinit) struct text plain;
	text_init(&plain);
	text_add_plain(&plain, string); /* what it calls it ends up on terminals */
	if (!plain.failed)
		recorder_put_mark(context, thread, plain.data, plain.len, stamp);
}

static void on_mapping(void *context, uint32_t thread, const struct merge_mapping *mapping)
{
	recorder_add_mapping(context, thread, mapping);
}

static void on_fork(void *context, uint32_t thread, uint64_t stamp)
{
	struct recorder *r = context;
	r->forks++;
	char name[HPW_MARK_FORK_BYTES];
	int n = snprintf(name, sizeof(name), HPW_MARK_FORK "%" PRIx64, stamp);
	recorder_put_mark(r, thread, name, (size_t)n, stamp);
}

static uint64_t on_run(void *context, uint32_t thread, struct merge_run *run)
{
	struct recorder *r = context;
	uint64_t taken = recorder_drain_fast(r, thread, run);
	if (r->encoder.steps >= r->chunk_steps)
		recorder_flush(r);
	return taken;
}

void recorder_steps_init(struct recorder *r)
{
	const struct merge_sink sink = {.context = r,
		.on_thread = on_thread,
		.on_thread_end = on_thread_end,
		.on_alloc = on_alloc,
		.on_free = on_free,
		.on_failed = on_failed,
		.on_moving = on_moving,
		.on_annotation = on_annotation,
		.on_lost = on_lost,
		.on_mapping = on_mapping,
		.on_mark = on_mark,
		.on_pool = recorder_on_pool,
		.on_error = recorder_on_error,
		.on_fork = on_fork,
		.on_run = on_run};
	merge_init(&r->merge, r->source, &sink);
}
