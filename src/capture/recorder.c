/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps come from the merge; each goes to the live table, the books and the encoder. Chunks are
 * written when enough steps have come or a second has passed, so that a collector that is killed
 * loses at most that second. Where not all steps go into chunks the books do, as often.
 */
#include "capture/recorder.h"

#include "base/cleanup.h"
#include "capture/footer.h"
#include "capture/instructions.h"
#include "capture/run.h"
#include "capture/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(
	HW_NODES_MAX * 16ull < LIVE_SITES_MAX && HW_ALLOC_KINDS <= 16, "a block knows its site");

#define FLUSH_NS 1000000000ull
/* How well the time of events is known that come now and then. */
#define GAPS_A_SECOND 200u
/* Nobody else is served while one mark is being set. */
#define MARK_WAIT_NS 20000000ull
#define STACKS_KNOWN_BYTES (HW_NODES_MAX / 8)

/* Both clocks are read within so many ticks of one of them, unless that is too much to ask. */
#define PAIR_TICKS 5000u
#define PAIR_TRIES 8u

static uint64_t tsc_now(void)
{
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
}

struct clock_pair clock_pair_now(void)
{
	struct clock_pair best = {0, 0};
	uint64_t least = UINT64_MAX;
	/* Whoever is interrupted between the two has a pair that is wrong by as long as that was.
	 */
	for (unsigned i = 0; i < PAIR_TRIES && least > PAIR_TICKS; i++) {
		struct timespec ts;
		uint64_t before = tsc_now();
		clock_gettime(CLOCK_MONOTONIC, &ts);
		uint64_t after = tsc_now();
		if (after - before >= least)
			continue;
		least = after - before;
		best.tsc = before + least / 2;
		best.ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	}
	return best;
}

static void keep_error(struct recorder *r, struct error *error)
{
	if (!r->error)
		r->error = error;
	else
		error_destroy(error);
}

/* Puts a node and its ancestors on the list of what the file has to define. Parents are smaller, so
 * this ends. */
static uint32_t stack_want(struct recorder *r, uint32_t stack)
{
	const struct hw_node *nodes = (const struct hw_node *)((char *)r->shm + HW_SHM_NODES);
	if (stack >= HW_NODES_MAX) {
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
		if (frame >= HW_MARK_FRAMES && frame <= HW_FRAME_ADDRESS_MASK)
			code_names_note(&r->code_names, r->pid, frame);
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
	if (stack >= HW_NODES_MAX)
		stack = stack_want(r, stack);
	uint32_t site = tally_site(&r->tally, stack, kind);
	if (__builtin_expect(site == UINT32_MAX && stack, 0)) {
		r->stacks_bad++;
		stack = 0;
		site = tally_site(&r->tally, stack, kind);
	}
	if (r->tally.site_count != before)
		stack_want(r, stack);
	return site;
}

static void flush(struct recorder *r);

static inline void after_step(struct recorder *r)
{
	r->tally.steps++;
	if (__builtin_expect(r->encoder.steps >= r->chunk_steps, 0))
		flush(r);
}

static void read_name(const struct recorder *r, struct tally_thread *t)
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

/* A row of several threads has the name that all of them had. */
static void name_row(const struct recorder *r, struct tally_thread *t)
{
	char before[sizeof(t->name)];
	memcpy(before, t->name, sizeof(before));
	memset(t->name, 0, sizeof(t->name));
	read_name(r, t);
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
	r->tally.threads[thread].stack_bytes = 0;
	/* A row that was another thread's goes on counting. */
	encode_thread(&r->encoder, thread, r->tally.threads[thread].allocations,
		HPW_SP_THREAD_START, stamp);
	after_step(r);
	return thread;
}

static void on_thread_end(void *context, uint32_t thread, uint64_t stamp)
{
	struct recorder *r = context;
	spared_thread_end(&r->spared, thread, r->tally.threads[thread].allocations);
	tally_thread_end(&r->tally, thread);
	encode_thread(&r->encoder, thread, r->tally.threads[thread].allocations, HPW_SP_THREAD_END,
		stamp);
	after_step(r);
}

/* `block` (NULL: none known at that address) has been given back and is no longer in the table. */
static inline void free_block(struct recorder *r, uint32_t thread, const struct live_block *block,
	enum hw_free_kind kind, bool same_frame, uint64_t stamp)
{
	uint64_t allocations = r->tally.threads[thread].allocations;
	struct encode_free e = {.thread = thread,
		.allocations = allocations,
		.same_frame = same_frame,
		.special_kind = -1,
		.stamp = stamp};
	if (!block) {
		r->tally.unknown_frees++;
		r->tally.threads[thread].frees++;
		e.special_kind = kind == HW_FREE ? -1 : (int)kind;
	} else {
		enum hw_free_kind expected = hw_matching_free(r->tally.sites[block->site].kind);
		if (__builtin_expect(kind != expected, 0)) {
			e.special_kind = (int)kind;
			r->tally.mismatched += !hw_free_is_realloc(kind) || expected != HW_FREE;
		}
		e.known = true;
		e.owner = block->thread;
		e.number = block->number;
		e.site = block->site;
		e.size = block->size;
		tally_free(&r->tally,
			&(struct tally_free){.site = block->site,
				.thread = thread,
				.size = block->size,
				.stamp = stamp,
				.temporary = e.owner == thread && e.number + 1 == allocations &&
					     !r->tally.threads[thread].fresh &&
					     !hw_free_is_realloc(kind),
				.same_frame = same_frame});
	}
	r->sums.calls++;
	r->tally.threads[thread].in_realloc = kind == HW_FREE_REALLOC;
	encode_free(&r->encoder, &e);
	after_step(r);
}

static void on_moving(void *context, uint32_t thread, uint64_t address)
{
	struct recorder *r = context;
	/* Else its end will have to do. */
	moving_begin(&r->moving, &r->live, thread, address);
}

/* What became of the thread's latest realloc is that nothing did; or nobody will know: then it did,
 * if another block has its place. */
static void moving_return(struct recorder *r, uint32_t thread, uint64_t stamp)
{
	struct moving_block moved;
	if (!moving_end(&r->moving, thread, 0, &moved) || !moved.known)
		return;
	enum live_added added = live_add(&r->live, &moved.block);
	if (added == LIVE_OCCUPIED) {
		r->frees_added++;
		free_block(r, thread, &moved.block, HW_FREE_REALLOC, false, stamp);
	}
	r->blocks_dropped += added == LIVE_NO_MEMORY;
}

static __attribute__((flatten)) void on_free(void *context, uint32_t thread, enum hw_free_kind kind,
	bool same_frame, uint64_t address, uint64_t stamp)
{
	struct recorder *r = context;
	struct live_block block;
	struct moving_block moved;
	if (__builtin_expect(r->moving.len && hw_free_is_realloc(kind), 0) &&
		moving_end(&r->moving, thread, address, &moved)) {
		free_block(r, thread, moved.known ? &moved.block : NULL, kind, same_frame, stamp);
		return;
	}
	bool known = live_take(&r->live, address, &block);
	free_block(r, thread, known ? &block : NULL, kind, same_frame, stamp);
}

static __attribute__((flatten)) void on_alloc(void *context, uint32_t thread,
	enum hw_alloc_kind kind, uint64_t address, uint32_t stack, uint64_t size, uint64_t stamp)
{
	struct recorder *r = context;
	uint32_t site = site_of(r, stack, kind);
	if (__builtin_expect(site == UINT32_MAX, 0)) {
		r->blocks_dropped++;
		return;
	}
	uint64_t number = r->tally.threads[thread].allocations;
	const struct live_block block = {
		.address = address, .size = size, .thread = thread, .number = number, .site = site};
	enum live_added added = address ? live_add(&r->live, &block) : LIVE_NO_MEMORY;
	if (__builtin_expect(added == LIVE_OCCUPIED, 0)) {
		/* Its free was lost, or came out of order, or was in a realloc that a kill cut off.
		 */
		struct live_block old;
		if (r->in_flight)
			r->in_flight--;
		else
			r->tally.repairs += !r->tally.lost;
		r->frees_added++;
		live_take(&r->live, address, &old);
		free_block(r, thread, &old, hw_matching_free(r->tally.sites[old.site].kind), false,
			stamp);
		added = live_add(&r->live, &block);
	}
	r->blocks_dropped += added != LIVE_ADDED;
	bool *in_realloc = &r->tally.threads[thread].in_realloc;
	r->sums.calls += !(*in_realloc && kind == HW_REALLOC);
	*in_realloc = false;
	encode_alloc(&r->encoder, thread, number, site, size, stamp);
	tally_alloc(&r->tally, site, thread, size, stamp);
	after_step(r);
}

static void on_failed(void *context, uint32_t thread, enum hw_alloc_kind kind, uint32_t stack,
	uint64_t size, uint64_t stamp)
{
	struct recorder *r = context;
	uint32_t site = site_of(r, stack, kind);
	if (site == UINT32_MAX)
		return;
	tally_failed(&r->tally, site);
	r->sums.calls++;
	r->tally.threads[thread].in_realloc = false;
	if (kind == HW_REALLOC && r->moving.len)
		moving_return(r, thread, stamp);
	encode_failed(&r->encoder, thread, r->tally.threads[thread].allocations, site, size, stamp);
	after_step(r);
}

static void on_lost(void *context, uint32_t thread, uint64_t count, uint64_t stamp)
{
	struct recorder *r = context;
	r->tally.lost += count;
	encode_lost(&r->encoder, thread, r->tally.threads[thread].allocations, count, stamp);
	after_step(r);
}

static void on_told(void *context, uint32_t thread, uint32_t what, uint64_t address, uint64_t bytes)
{
	struct recorder *r = context;
	if (!spared_tell(&r->spared, &r->live, thread, r->tally.threads[thread].allocations,
		    (enum hw_told)what, address, bytes))
		keep_error(r, error_no_memory());
}

/* Names that begin so are ours. */
static bool is_mark_of_fork(const char *name, size_t bytes)
{
	size_t prefix = strlen(HPW_MARK_FORK);
	return bytes >= prefix && memcmp(name, HPW_MARK_FORK, prefix) == 0;
}

static void put_mark(
	struct recorder *r, uint32_t thread, const char *name, size_t bytes, uint64_t stamp)
{
	const struct encode_mark mark = {.name = name,
		.name_bytes = bytes,
		.live_blocks = r->tally.live_blocks,
		.live_bytes = r->tally.live_bytes};
	encode_mark(&r->encoder, thread, r->tally.threads[thread].allocations, &mark, stamp);
	r->marks += !r->folds && !is_mark_of_fork(name, bytes);
	after_step(r);
}

static void on_mark(void *context, uint32_t thread, const char *name, size_t bytes, uint64_t stamp)
{
	if (!is_mark_of_fork(name, bytes))
		put_mark(context, thread, name, bytes, stamp);
}

static void on_fork(void *context, uint32_t thread, uint64_t stamp)
{
	struct recorder *r = context;
	char name[HPW_MARK_FORK_BYTES];
	int n = snprintf(name, sizeof(name), HPW_MARK_FORK "%" PRIx64, stamp);
	put_mark(r, thread, name, (size_t)n, stamp);
}

static void write_chunk(struct recorder *r, enum hpw_chunk_type type, bool ok, bool compress)
{
	struct error *error = NULL;
	if (!ok)
		error = error_no_memory();
	else if (r->payload.len <= HPW_CHUNK_RAW_MAX && r->aside)
		error = writer_seal(&r->writer, type, &r->payload, r->aside);
	else if (r->payload.len <= HPW_CHUNK_RAW_MAX)
		error = writer_chunk(&r->writer, type, &r->payload, compress);
	else if (type == HPW_STACKS || type == HPW_SITES)
		error = error_create(ERROR_INTERNAL,
			"a chunk of %zu bytes is too large to be written", r->payload.len);
	/* Else it is a sum of the events, which a reader makes itself. */
	keep_error(r, error);
	buf_clear(&r->payload);
}

static void note_stack(void *context, uint32_t thread, uint64_t bytes)
{
	struct recorder *r = context;
	r->tally.threads[thread].stack_bytes = bytes;
}

/* What goes with the events, before them: sums without their events are passed over, events
 * without their sums would be in the way. */
static void write_moment(struct recorder *r)
{
	if (r->sums.on)
		merge_each_stack(&r->merge, note_stack, r);
	if (sums_put_deaths(&r->sums, &r->encoder, &r->payload)) {
		if (r->payload.len)
			write_chunk(r, HPW_DEATHS, true, true);
		if (sums_put(&r->sums, &r->tally, &r->encoder, &r->payload))
			write_chunk(r, HPW_SUMS, true, true);
	}
	buf_clear(&r->payload);
	sums_next(&r->sums, &r->tally, &r->encoder);
	r->sums.instructions = instructions_read(r->instructions);
}

static void flush_events(struct recorder *r, struct clock_pair now)
{
	write_moment(r);
	const struct keep_span span = {r->encoder.first_step, r->encoder.steps,
		r->encoder.first_stamp, r->encoder.last_stamp};
	bool ok = encoder_finish(&r->encoder, now.tsc, now.ns, &r->payload);
	struct error *error = NULL;
	if (!ok)
		error = error_no_memory();
	else if (r->payload.len > HPW_CHUNK_RAW_MAX)
		error = error_create(ERROR_INTERNAL,
			"a chunk of %zu bytes is too large to be written", r->payload.len);
	else
		error = keep_events(&r->keep, &r->writer, &r->payload, &span);
	keep_error(r, error);
	buf_clear(&r->payload);
}

static void write_unrecorded(struct recorder *r)
{
	if (r->unrecorded.written == r->unrecorded.rows.len)
		return;
	bool ok = footer_unrecorded(&r->payload, &r->unrecorded);
	write_chunk(r, HPW_UNRECORDED, ok, true);
}

static uint32_t notes_of(const struct hw_shm *shm)
{
	uint32_t notes = __atomic_load_n(&shm->notes, __ATOMIC_RELAXED);
	return (notes & HW_NOTE_OWN_MALLOC ? HPW_NOTE_OWN_MALLOC : 0u) |
	       (notes & HW_NOTE_IN_FRONT ? HPW_NOTE_IN_FRONT : 0u) |
	       (notes & HW_NOTE_SANDBOXED ? HPW_NOTE_SANDBOXED : 0u) |
	       (notes & HW_NOTE_APART ? HPW_NOTE_APART : 0u) |
	       (notes & HW_NOTE_ATTACHED ? 0u : HPW_NOTE_NOT_ATTACHED);
}

/* What is live, in chunks. */
static void write_live(struct recorder *r)
{
	if (!r->live.blocks)
		return;
	size_t room = r->live.blocks < FOOTER_LIVE_ROWS ? r->live.blocks : FOOTER_LIVE_ROWS;
	room += LIVE_WALK_ROOM;
	struct live_walk walk;
	_cleanup_free_ struct live_block *blocks = malloc(room * sizeof(*blocks));
	if (!blocks || !live_walk_begin(&r->live, &walk)) {
		keep_error(r, error_no_memory());
		return;
	}
	for (size_t n; (n = live_walk_next(&walk, blocks, room));) {
		bool ok = footer_live(&r->payload, blocks, n);
		write_chunk(r, HPW_LIVE, ok, true);
	}
	live_walk_end(&walk);
}

/* The books as they stand, without the list of what is live. */
static struct footer_summary write_books(struct recorder *r, const struct recorder_end *end)
{
	tally_settle(&r->tally);
	struct clock_pair now = clock_pair_now();
	struct footer_summary s = {.end = *end,
		.events = r->merge.events - r->merge.dropped + r->frees_added,
		.lost = {[HPW_LOST_OWNERLESS] = r->merge.dropped,
			[HPW_LOST_DAMAGED] = r->merge.damaged,
			[HPW_LOST_NO_MEMORY] = r->blocks_dropped},
		.stacks_full = r->shm->stacks_full + r->stacks_bad,
		.notes = notes_of(r->shm),
		.unrecorded =
			r->unrecorded.count + __atomic_load_n(&r->shm->untold, __ATOMIC_RELAXED),
		.kept = keep_all(&r->keep),
		.marks = r->marks,
		.instructions = instructions_read(r->instructions),
		.end_tsc = now.tsc,
		.duration_ns = now.ns - r->began.ns};
	footer_rings(r->shm, &s);
	static const enum hpw_chunk_type types[] = {
		HPW_THREADS, HPW_SITE_STATS, HPW_SIZES, HPW_SUMMARY};
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		bool ok = footer_table(&r->payload, types[i], &r->tally, &s);
		write_chunk(r, types[i], ok, true);
	}
	return s;
}

/* Whether the sums can't be had from the events in the file. */
static bool checkpoints_needed(const struct recorder *r)
{
	return r->folds || keep_drops(&r->keep);
}

/* All that happened is in the file or in the sums. */
static void checkpoint(struct recorder *r)
{
	struct checkpoints *c = &r->checkpoints;
	r->aside = checkpoints_begin(c, clock_pair_now().ns);
	write_books(r, &(struct recorder_end){.kind = HPW_EXIT_UNKNOWN});
	if (r->live.blocks <= CHECKPOINT_LIVE_ROWS)
		write_live(r);
	r->aside = NULL;
	keep_error(r, checkpoints_end(c, &r->writer, r->tally.steps, clock_pair_now().ns));
}

/* Everything that happened since the last flush, with what it refers to first. */
static void flush(struct recorder *r)
{
	struct clock_pair now = clock_pair_now();
	r->flushed_ns = now.ns;
	write_unrecorded(r);
	if (!r->encoder.steps)
		return;
	while (footer_modules(&r->payload, r->shm, &r->modules_written))
		write_chunk(r, HPW_MODULES, true, true);
	footer_stacks_sort(r->stacks, r->stacks_count);
	for (size_t done = 0, taken; done < r->stacks_count; done += taken) {
		bool ok = footer_stacks(&r->payload, r->shm, r->stacks + done,
			r->stacks_count - done, &r->stacks_end, &taken);
		write_chunk(r, HPW_STACKS, ok, true);
	}
	r->stacks_count = 0;
	if (r->sites_written < r->tally.site_count) {
		bool ok = footer_sites(&r->payload, &r->tally, r->sites_written);
		r->sites_written = r->tally.site_count;
		write_chunk(r, HPW_SITES, ok, true);
	}
	if (r->folds) {
		encoder_drop(&r->encoder);
	} else {
		flush_events(r, now);
	}
	/* Events know threads by number only; a recording that is cut off here has their names all
	 * the same, or most of them: the table is written whole each time. */
	uint64_t seen = r->tally.threads_seen;
	if (!checkpoints_needed(r) && seen != r->threads_written &&
		seen >= r->threads_written + r->threads_written / 8) {
		r->threads_written = seen;
		bool ok = footer_table(&r->payload, HPW_THREADS, &r->tally, NULL);
		write_chunk(r, HPW_THREADS, ok, true);
	}
	if (keep_is_full(&r->keep, r->writer.offset)) {
		r->folds = true;
		sums_end(&r->sums, &r->tally, &r->encoder);
	}
	/* Before anything is left out. */
	if (r->mode.kind == MODE_EXACT && checkpoints_needed(r) && !r->checkpoints.number &&
		!r->checkpoints.given_up)
		checkpoint(r);
}

static uint64_t on_run(void *context, uint32_t thread, struct merge_run *run)
{
	struct recorder *r = context;
	uint64_t taken = recorder_run(r, thread, run);
	if (r->encoder.steps >= r->chunk_steps)
		flush(r);
	return taken;
}

/* The collector has raised its own limit as far as it may. */
static struct error *rings_refused(int why)
{
	unsigned long long mib = HW_SHM_BYTES >> 20;
	struct rlimit limit;
	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return error_errno(ERROR_ENVIRONMENT, why,
			"no room to record: can't map %llu MiB for the rings", mib);
	return error_create(ERROR_ENVIRONMENT,
		"no room to record: the hard limit of address space (ulimit -H -v) is %llu MiB, "
		"and the "
		"collector needs %llu MiB for each process at a time; raise it, or set the soft "
		"limit alone (ulimit -S -v)",
		(unsigned long long)limit.rlim_cur >> 20, mib);
}

/* The memory that both sides share: sparse, so that its size is a promise, not a cost. */
static struct error *rings_create(struct recorder *r, const struct recorder_start *start)
{
	const char *name = start->memory_name ? start->memory_name : "heapwise";
	r->memory = shared_memory_create(name, HW_SHM_BYTES, r->writer.name);
	if (r->memory < 0)
		return error_errno(
			ERROR_ENVIRONMENT, errno, "can't create shared memory for the rings");
	void *at = mmap(NULL, HW_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		r->memory, 0);
	if (at == MAP_FAILED)
		return rings_refused(errno);
	r->shm = at;
	r->shm->magic = HW_SHM_MAGIC;
	r->shm->version = HW_SHM_VERSION;
	r->shm->total_bytes = HW_SHM_BYTES;
	r->shm->sample_bytes = r->mode.sample_bytes;
	r->shm->sample_seed = r->mode.seed;
	r->shm->nodes = 1;
	r->shm->modules = 1;
	r->shm->awaited = start->awaited ? start->target_pid : 0;
	r->shm->awaited_at_main_end = start->awaited_at_main_end;
	r->shm->as_lsan = start->as_lsan;
	if (start->lsan_functions)
		memcpy(r->shm->lsan_functions, start->lsan_functions,
			sizeof(r->shm->lsan_functions));
	return NULL;
}

static struct error *recorder_open(struct recorder *r, const struct recorder_start *start)
{
	uint32_t features = start->mode.kind == MODE_SAMPLE ? HPW_FEATURE_SAMPLED : 0;
	struct error *error = writer_open(&r->writer, start->file, start->file_name, features);
	if (error)
		return error;
	error = rings_create(r, start);
	if (error)
		return error;
	/* Not calloc: that would touch all of it once such a piece was freed before. */
	void *known = mmap(NULL, STACKS_KNOWN_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (known == MAP_FAILED)
		return error_no_memory();
	r->stacks_known = known;
	const struct merge_sink sink = {.context = r,
		.on_thread = on_thread,
		.on_thread_end = on_thread_end,
		.on_alloc = on_alloc,
		.on_free = on_free,
		.on_failed = on_failed,
		.on_moving = on_moving,
		.on_told = on_told,
		.on_lost = on_lost,
		.on_mark = on_mark,
		.on_fork = on_fork,
		.on_run = on_run};
	merge_init(&r->merge, r->shm, start->tsc_hz, &sink);
	const char *why = NULL;
	if (r->sums.on)
		r->instructions = instructions_open(r->pid, &why);
	if (!footer_target(&r->payload, start) ||
		(r->sums.on && !footer_target_instructions(
				       &r->payload, r->instructions >= 0 ? HPW_COUNTED : why)))
		return error_no_memory();
	error = writer_chunk(&r->writer, HPW_TARGET, &r->payload, false);
	r->payload.len = 0;
	return error;
}

struct error *recorder_create(const struct recorder_start *start, struct recorder **ret)
{
	struct recorder *r = calloc(1, sizeof(*r));
	if (!r) {
		close(start->file);
		return error_no_memory();
	}
	r->mode = start->mode;
	keep_init(&r->keep, &r->mode);
	checkpoints_init(&r->checkpoints, start->began.ns);
	r->chunk_steps = keep_chunk_steps(&r->keep);
	r->folds = start->mode.kind == MODE_AGGREGATE;
	r->pid = start->pid;
	r->target_pid = start->target_pid;
	r->forked = start->forked;
	r->tids_differ = start->pid != start->target_pid;
	r->memory = -1;
	r->instructions = -1;
	r->writer.fd = -1;
	r->began = start->began;
	r->flushed_ns = start->began.ns;
	r->modules_written = 1; /* module 0 is "unknown" */
	r->stacks_end = 1;      /* node 0 is the root */
	code_names_init(&r->code_names);
	unrecorded_init(&r->unrecorded);
	live_init(&r->live);
	moving_init(&r->moving);
	spared_init(&r->spared);
	tally_init(&r->tally);
	encoder_init(&r->encoder);
	r->encoder.gap_least = start->tsc_hz / GAPS_A_SECOND;
	if (start->mode.kind == MODE_EXACT && !start->mode.ring_bytes)
		sums_begin(&r->sums, &r->tally, &r->encoder);
	buf_init(&r->payload);
	struct error *error = recorder_open(r, start);
	if (error) {
		recorder_destroy(r);
		return error;
	}
	*ret = r;
	return NULL;
}

void recorder_destroy(struct recorder *recorder)
{
	if (!recorder)
		return;
	if (recorder->shm) {
		/* A child of the process may hold on to one page: the others are let go. */
		if (!recorder->outlived)
			madvise(recorder->shm, HW_SHM_BYTES, MADV_REMOVE);
		munmap(recorder->shm, HW_SHM_BYTES);
	}
	if (recorder->memory >= 0)
		close(recorder->memory);
	if (recorder->instructions >= 0)
		close(recorder->instructions);
	writer_close(&recorder->writer);
	keep_deinit(&recorder->keep);
	checkpoints_deinit(&recorder->checkpoints);
	merge_deinit(&recorder->merge);
	live_deinit(&recorder->live);
	moving_deinit(&recorder->moving);
	spared_deinit(&recorder->spared);
	tally_deinit(&recorder->tally);
	sums_deinit(&recorder->sums);
	encoder_deinit(&recorder->encoder);
	buf_deinit(&recorder->payload);
	if (recorder->stacks_known)
		munmap(recorder->stacks_known, STACKS_KNOWN_BYTES);
	free(recorder->stacks);
	code_names_deinit(&recorder->code_names);
	unrecorded_deinit(&recorder->unrecorded);
	error_destroy(recorder->error);
	free(recorder);
}

static bool thread_alive(void *context, uint32_t tid)
{
	const struct recorder *r = context;
	return r->tids_differ || !syscall(SYS_tgkill, r->pid, tid, 0) || errno != ESRCH;
}

uint64_t recorder_drain(struct recorder *recorder)
{
	recorder->merge.look_ahead = recorder->live.blocks >= LIVE_PREFETCH_BLOCKS;
	uint64_t moved = merge_pass(&recorder->merge, false), idle;
	if (!moved && (idle = merge_idle_since(&recorder->merge)))
		encoder_idle(&recorder->encoder, idle);
	if (merge_ring_wanted(&recorder->merge))
		merge_reclaim(&recorder->merge, thread_alive, recorder);
	return moved;
}

/* Takes all that happened before the stamp, or what can be had of it in a short while. */
static void drain_until(struct recorder *r, uint64_t stamp)
{
	uint64_t began = clock_pair_now().ns;
	do
		recorder_drain(r);
	while (r->merge.told < stamp && clock_pair_now().ns - began < MARK_WAIT_NS);
}

/* One that lives, if there is one. */
static uint32_t any_thread(const struct recorder *r)
{
	uint32_t thread = 0;
	while (thread < r->tally.thread_count && r->tally.threads[thread].ended)
		thread++;
	return thread < r->tally.thread_count ? thread : 0;
}

const char *recorder_mark(struct recorder *recorder, const char *name, uint64_t *ret_ns)
{
	struct recorder *r = recorder;
	struct clock_pair now = clock_pair_now();
	drain_until(r, now.tsc);
	if (r->folds)
		return "its recording has no events, in which the mark could stand";
	if (!r->tally.thread_count)
		return "it has not allocated anything yet";
	put_mark(r, any_thread(r), name, strlen(name),
		r->merge.told > now.tsc ? r->merge.told : now.tsc);
	*ret_ns = now.ns - r->began.ns;
	return NULL;
}

bool recorder_is_called(const struct recorder *recorder)
{
	return merge_is_called(&recorder->merge);
}

void recorder_tend(struct recorder *recorder)
{
	merge_reclaim(&recorder->merge, thread_alive, recorder);
	struct clock_pair now = clock_pair_now();
	bool due = checkpoints_needed(recorder) &&
		   checkpoints_due(&recorder->checkpoints, now.ns, recorder->tally.steps);
	if (!due && now.ns - recorder->flushed_ns < FLUSH_NS)
		return;
	for (uint32_t i = 0; i < recorder->tally.thread_count && i < 64; i++) {
		if (!recorder->tally.threads[i].ended)
			read_name(recorder, &recorder->tally.threads[i]);
	}
	flush(recorder);
	if (due)
		checkpoint(recorder);
}

static void fill_totals(
	const struct recorder *r, const struct footer_summary *s, struct recorder_totals *ret)
{
	struct rusage usage = {.ru_maxrss = 0};
	getrusage(RUSAGE_SELF, &usage);
	const struct tally *t = &r->tally;
	*ret = (struct recorder_totals){.events = s->events,
		.lost = footer_lost(s),
		.repairs = t->repairs,
		.allocations = t->allocations,
		.allocated_bytes = t->allocated_bytes,
		.frees = t->frees,
		.failed = t->failed,
		.live_blocks = t->live_blocks,
		.live_bytes = t->live_bytes,
		.temporary = t->temporary,
		.peak_bytes = t->peak_bytes,
		.duration_ns = s->duration_ns,
		.file_bytes = r->writer.offset,
		.threads = t->threads_seen,
		.memory_bytes = (uint64_t)usage.ru_maxrss * 1024,
		.connected = 1,
		.notes = s->notes,
		.write_error = r->error != NULL};
	if (s->end_tsc >= t->peak_stamp && t->peak_stamp > r->began.tsc)
		ret->peak_ns =
			(uint64_t)((double)(t->peak_stamp - r->began.tsc) /
				   (double)(s->end_tsc - r->began.tsc) * (double)s->duration_ns);
	if (r->error)
		snprintf(ret->message, sizeof(ret->message), "%s", r->error->message);
}

static void write_code_names(struct recorder *r)
{
	code_names_read(&r->code_names, r->pid, r->target_pid);
	if (!r->code_names.rows.len)
		return;
	bool ok = footer_code_names(&r->payload, &r->code_names);
	write_chunk(r, HPW_CODE_NAMES, ok, true);
}

void recorder_add_chunk(
	struct recorder *recorder, enum hpw_chunk_type type, const void *payload, size_t bytes)
{
	flush(recorder);
	write_chunk(recorder, type, buf_bytes(&recorder->payload, payload, bytes), true);
}

void recorder_finish(
	struct recorder *recorder, const struct recorder_end *end, struct recorder_totals *ret)
{
	struct recorder *r = recorder;
	/* One pass takes all there is. Should somebody else hold the memory and go on writing, that
	 * is no part of this process. */
	r->in_flight = merge_in_flight(&r->merge);
	merge_pass(&r->merge, true);
	for (uint32_t thread; moving_any(&r->moving, &thread);)
		moving_return(r, thread, clock_pair_now().tsc);
	flush(r);
	struct footer_summary s = write_books(r, end);
	write_code_names(r);
	write_live(r);
	keep_error(r, writer_finish(&r->writer));
	checkpoints_finish(&r->checkpoints, &r->writer);
	bool gone = writer_is_gone(&r->writer);
	if (gone && !r->error)
		r->error = error_create(ERROR_ENVIRONMENT,
			"%s was removed or replaced while it was recorded: nothing of it is left",
			r->writer.name);
	fill_totals(r, &s, ret);
	ret->file_gone = gone;
}
