/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see memory.h. May touch: the same. */
#include "runtime/preload/memory.h"

#include "runtime/python/mixed.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE 4096ull
#define PAGES(bytes) (((uint64_t)(bytes) + PAGE - 1) / PAGE * PAGE)

/* A ring's private part. */
struct ring_memory {
	struct rt_thread thread; /* first: where it is the rest is */
	struct rt_frame frames[2 * RT_DEPTH_MAX];
	struct rt_stack_cache cache;
	/* Last: of most threads these are never touched. */
	struct rt_python_chain chain;
	struct rt_python_mixer mixer;
};
#define RING_BYTES PAGES(sizeof(struct ring_memory))

/* Ordinary memory: a forked child keeps these places, wiped. */
static struct ring_memory *rings[HW_RING_SHARED];
static uint64_t *places;

static void advise_range(void *at, uint64_t bytes, int advice)
{
	sys_call(__NR_madvise, at, bytes, advice);
}

static void *map_wiped(uint64_t bytes)
{
	long at = sys_call6(__NR_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sys_failed(at))
		return NULL;
	advise_range((void *)at, bytes, MADV_NOHUGEPAGE);
	advise_range((void *)at, bytes, MADV_DONTDUMP);
	if (!sys_failed(sys_call(__NR_madvise, at, bytes, MADV_WIPEONFORK)))
		return (void *)at;
	sys_call(__NR_munmap, at, bytes, 0);
	return NULL;
}

bool rt_memory_process(void)
{
	if (!rt_process)
		rt_process = map_wiped(PAGES(sizeof(struct rt_process)));
	return rt_process;
}

static struct rt_thread *thread_of(struct ring_memory *memory)
{
	rt_walk_init(&memory->thread.walk, memory->frames, &memory->cache);
	memory->thread.chain = &memory->chain;
	memory->thread.mixer = &memory->mixer;
	return &memory->thread;
}

struct rt_thread *rt_memory_thread(uint32_t ring)
{
	struct ring_memory *memory = __atomic_load_n(&rings[ring], __ATOMIC_ACQUIRE);
	if (!memory && !sys_no_calls()) {
		memory = map_wiped(RING_BYTES);
		__atomic_store_n(&rings[ring], memory, __ATOMIC_RELEASE);
	}
	return memory ? thread_of(memory) : NULL;
}

void rt_memory_threads_all(void)
{
	uint32_t missing = 0;
	for (uint32_t i = 0; i < HW_RING_SHARED; i++)
		missing += !__atomic_load_n(&rings[i], __ATOMIC_RELAXED);
	char *at = missing ? map_wiped(missing * RING_BYTES) : NULL;
	for (uint32_t i = 0; at && missing && i < HW_RING_SHARED; i++) {
		struct ring_memory *none = NULL;
		/* The owner of the ring may have made it at this moment; then the one made here is
		 * not used. */
		if (__atomic_compare_exchange_n(&rings[i], &none, (struct ring_memory *)at, false,
			    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			at += RING_BYTES;
			missing--;
		}
	}
}

uint64_t *rt_memory_places(void)
{
	if (!places)
		places = map_wiped(PAGES(RT_SAMPLER_BYTES));
	return places;
}

/* What is wiped, one after another: *number from 0. */
static bool next_wiped(uint32_t *number, struct rt_range *ret)
{
	uint32_t n = (*number)++;
	if (n == 0) {
		*ret = (struct rt_range){rt_process, PAGES(sizeof(struct rt_process))};
		return true;
	}
	if (n == 1) {
		*ret = (struct rt_range){places, PAGES(RT_SAMPLER_BYTES)};
		return true;
	}
	if (n - 2 >= HW_RING_SHARED)
		return false;
	*ret = (struct rt_range){__atomic_load_n(&rings[n - 2], __ATOMIC_ACQUIRE), RING_BYTES};
	return true;
}

void rt_memory_advise(int advice)
{
	struct rt_range range;
	for (uint32_t i = 0; next_wiped(&i, &range);) {
		if (range.at)
			advise_range(range.at, range.bytes, advice);
	}
}

/*
 * How much of the shared memory is mapped: all of it in one piece, or its first part up to this
 * many call stacks, and the rings from `first_ring` on. With the private part that is 543, 69 or 41
 * MiB.
 */
static const struct extent {
	uint64_t limit; /* of address space, from which on it is fair to take so much */
	uint32_t nodes, first_ring;
} extents[] = {
	{4ull << 30, HW_NODES_MAX, 0},
	{256u << 20, 1u << 20, HW_RINGS_LARGE},
	{HW_ADDRESS_SPACE_LEAST, 1u << 17, HW_RINGS_LARGE + HW_RINGS_MEDIUM},
};
#define EXTENTS (sizeof(extents) / sizeof(extents[0]))

static uint64_t address_space(void)
{
	uint64_t limit[2] = {RLIM_INFINITY, 0};
	sys_call4(__NR_prlimit64, 0, RLIMIT_AS, NULL, limit);
	return limit[0];
}

bool rt_memory_may_be_had(void)
{
	return sys_no_calls() || address_space() >= HW_ADDRESS_SPACE_LEAST;
}

static char *map_shared(int memory, uint64_t offset, uint64_t bytes)
{
	long at = sys_call6(__NR_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, memory, (long)offset);
	if (sys_failed(at))
		return NULL;
	/* A child must not even be able to write into its parent's rings. */
	advise_range((void *)at, bytes, MADV_DONTFORK);
	advise_range((void *)at, bytes, MADV_DONTDUMP);
	return (char *)at;
}

static uint64_t data_offset(uint32_t ring)
{
	return HW_SHM_DATA + hw_ring_start(ring) * sizeof(uint64_t);
}

static bool map_extent(struct rt_process *p, int memory, const struct extent *extent)
{
	bool whole = extent->nodes == HW_NODES_MAX;
	uint64_t first = HW_SHM_NODES + (uint64_t)extent->nodes * sizeof(struct hw_node);
	uint64_t offset = data_offset(extent->first_ring);
	p->shared_ranges[0].bytes = whole ? HW_SHM_BYTES : first;
	p->shared_ranges[1].bytes = whole ? 0 : HW_SHM_BYTES - offset;
	char *at = map_shared(memory, 0, p->shared_ranges[0].bytes), *data = at;
	if (at && !whole)
		data = map_shared(memory, offset, p->shared_ranges[1].bytes);
	if (at && !data)
		sys_call(__NR_munmap, at, p->shared_ranges[0].bytes, 0);
	if (!data)
		return false;
	p->shared_ranges[0].at = at;
	p->shared_ranges[1].at = whole ? NULL : data;
	p->shm = (struct hw_shm *)at;
	p->ring_data = (uint64_t *)(whole ? at + offset : data);
	p->first_ring = extent->first_ring;
	p->unwinder.stacks = (struct rt_stacks){.shm = p->shm,
		.nodes = (struct hw_node *)(at + HW_SHM_NODES),
		.nodes_max = extent->nodes,
		.lines = (struct hw_line *)(at + HW_SHM_LINES),
		.lines_more = (struct hw_line *)(at + HW_SHM_LINES_MORE)};
	return true;
}

bool rt_memory_share(struct rt_process *p, int memory)
{
	uint64_t limit = address_space();
	bool mapped = false;
	for (unsigned i = 0; i < EXTENTS && !mapped; i++)
		mapped = limit >= extents[i].limit && map_extent(p, memory, &extents[i]);
	const struct hw_shm *shm = p->shm;
	if (mapped && shm->magic == HW_SHM_MAGIC && shm->version == HW_SHM_VERSION &&
		shm->total_bytes == HW_SHM_BYTES) {
		if (p->shared_ranges[0].bytes != HW_SHM_BYTES)
			rt_stacks_close_more(&p->unwinder.stacks);
		if (p->shared_ranges[0].bytes != HW_SHM_BYTES)
			rt_codes_close(p->shm);
		return true;
	}
	if (mapped)
		rt_memory_unshare(p);
	return false;
}

/* More nodes than threads can add before they see that the table has become smaller. */
#define NODES_SLACK 4096u

/* Where the table of call stacks ends from now on, as an offset. A thread that has a number before
 * the count was read here may use it; one that gets a later number sees the new size first. */
static uint64_t shrink_nodes(struct rt_process *p, uint32_t nodes)
{
	struct rt_stacks *stacks = &p->unwinder.stacks;
	uint32_t used = __atomic_load_n(&p->shm->nodes, __ATOMIC_SEQ_CST) + NODES_SLACK;
	uint32_t kept = used > nodes ? used : nodes;
	if (kept < stacks->nodes_max)
		__atomic_store_n(&stacks->nodes_max, kept, __ATOMIC_SEQ_CST);
	used = __atomic_load_n(&p->shm->nodes, __ATOMIC_SEQ_CST);
	kept = used > stacks->nodes_max ? used : stacks->nodes_max;
	uint64_t end = HW_SHM_NODES + PAGES((uint64_t)kept * sizeof(struct hw_node));
	return end < HW_SHM_LINES_MORE ? end : HW_SHM_LINES_MORE;
}

/* Takes the free rings before `end` for ever, from the last one on; returns where they begin. */
static uint32_t shrink_rings(struct rt_process *p, uint32_t end)
{
	struct hw_ring *all = (struct hw_ring *)((char *)p->shm + HW_SHM_RINGS);
	uint32_t first = end;
	for (; first > 1; first--) {
		uint32_t state = HW_RING_FREE;
		struct hw_ring *ring = &all[first - 1];
		if (!__atomic_compare_exchange_n(&ring->state, &state, HW_RING_ACTIVE, false,
			    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			break;
		ring->tid = 0; /* of no thread */
	}
	return first;
}

static void unmap_range(char *base, uint64_t start, uint64_t end)
{
	if (start < end)
		sys_call(__NR_munmap, base + start, end - start, 0);
}

void rt_memory_shrink(struct rt_process *p, uint64_t limit)
{
	unsigned i = 0;
	while (i < EXTENTS - 1 && limit < extents[i].limit)
		i++;
	if (!i || __atomic_exchange_n(&p->shrinking, 1, __ATOMIC_ACQUIRE))
		return;
	char *base = (char *)p->shm;
	struct rt_range *r = p->shared_ranges;
	uint64_t unused = shrink_nodes(p, extents[i].nodes), range_end = r[0].bytes;
	bool whole = range_end == HW_SHM_BYTES;
	/* The mapped ranges are set before the rest is unmapped. */
	if (unused < range_end)
		r[0].bytes = unused;
	if (whole) {
		uint32_t last = extents[i].first_ring, first = shrink_rings(p, last);
		uint64_t hole = data_offset(first), end = data_offset(last);
		/* More than 2^17 call stacks are in use, or about to be: their tables stay. */
		uint64_t unused_end = HW_SHM_LINES_MORE;
		if (rt_stacks_close_more(&p->unwinder.stacks))
			unused_end = rt_codes_close(p->shm) ? HW_SHM_DATA : HW_SHM_CODES;
		r[1] = (struct rt_range){base + unused_end, hole - unused_end};
		r[2] = (struct rt_range){base + end, HW_SHM_BYTES - end};
		unmap_range(base, unused, unused_end);
		unmap_range(base, hole, end);
	} else {
		unmap_range(base, unused, range_end);
	}
	__atomic_store_n(&p->shrinking, 0, __ATOMIC_RELEASE);
}

void rt_memory_unshare(struct rt_process *p)
{
	for (unsigned i = 0; i < RT_SHARED_RANGES; i++) {
		if (p->shared_ranges[i].at)
			sys_call(__NR_munmap, p->shared_ranges[i].at, p->shared_ranges[i].bytes, 0);
	}
}

void rt_memory_unshare_in_place(struct rt_process *p)
{
	for (unsigned i = 0; i < RT_SHARED_RANGES; i++) {
		/* Shared with children, if there are any: so it is no data in the kernel's books.
		 */
		if (p->shared_ranges[i].at)
			sys_call6(__NR_mmap, (long)p->shared_ranges[i].at,
				(long)p->shared_ranges[i].bytes, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	}
}

void rt_memory_report(struct hw_shm *shm)
{
	struct rt_range range;
	for (uint32_t i = 0; i < HW_OWN && next_wiped(&i, &range);) {
		uint64_t at = (uint64_t)range.at;
		shm->own[i - 1] = (struct hw_span){at, at ? at + range.bytes : 0};
	}
	shm->own_ring_bytes = RING_BYTES;
}

static bool range_contains(const struct rt_range *range, uint64_t address)
{
	return range->at && address - (uint64_t)range->at < range->bytes;
}

static bool is_runtime_address(uint64_t address)
{
	struct rt_range range;
	for (unsigned i = 0; i < RT_SHARED_RANGES; i++) {
		if (range_contains(&rt_process->shared_ranges[i], address))
			return true;
	}
	for (uint32_t i = 0; next_wiped(&i, &range);) {
		if (range_contains(&range, address))
			return true;
	}
	return false;
}

bool rt_memory_is_ours(uint64_t start, uint64_t end)
{
	/* The kernel merges adjacent mappings of the same kind; those like the runtime's belong to
	 * it. */
	return is_runtime_address(start) && is_runtime_address(end - 1);
}

void rt_memory_unlock(void)
{
	struct rt_range range;
	for (unsigned i = 0; i < RT_SHARED_RANGES; i++) {
		if (rt_process->shared_ranges[i].at)
			sys_call(__NR_munlock, rt_process->shared_ranges[i].at,
				rt_process->shared_ranges[i].bytes, 0);
	}
	for (uint32_t i = 0; next_wiped(&i, &range);) {
		if (range.at)
			sys_call(__NR_munlock, range.at, range.bytes, 0);
	}
}
