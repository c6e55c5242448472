/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see sums.h. May touch: the same. */
#include "runtime/guard/sums.h"

#include "runtime/guard/leaves.h"
#include "runtime/preload/check_bridge.h"

#include <sys/mman.h>
#include <sys/stat.h>

#define PLACES 256u

/* What a few threads have counted and not passed on. */
struct block_count {
	uint64_t blocks, bytes;
	char fill[48];
};
static_assert(sizeof(struct block_count) == 64, "a cache line each");

static struct block_count counts[PLACES];
static uint32_t next_place;
/* The sums of this process; others see a copy, made with each change once there is one. */
static struct hw_check_sums sums;

static struct hw_check_page *own_page; /* NULL: there is none */
static struct hw_check_sums *own_file; /* NULL: there is none, or it is the parent's */

static struct hw_check_sums *shown_sums(void)
{
	struct hw_check_sums *to =
		own_file || !heapwise_rt_check_sums ? own_file : heapwise_rt_check_sums();
	if (to && rt_unlikely(!__atomic_load_n(&to->is_there, __ATOMIC_RELAXED))) {
		__atomic_store_n(&to->backend, sums.backend, __ATOMIC_RELAXED);
		__atomic_store_n(&to->seed, guard_settings.seed, __ATOMIC_RELAXED);
		__atomic_store_n(&to->is_there, 1, __ATOMIC_RELEASE);
	}
	return to;
}

/* Adds to a sum. What was counted before others could see it comes with the next addition. */
#define ADD(field, n)                                                                              \
	do {                                                                                       \
		uint64_t sums_new = __atomic_add_fetch(&sums.field, n, __ATOMIC_RELAXED);          \
		struct hw_check_sums *sums_to = shown_sums();                                      \
		if (sums_to)                                                                       \
			__atomic_store_n(&sums_to->field, sums_new, __ATOMIC_RELAXED);             \
	} while (0)

/* At that number a program may have a file of its own, which is not touched. */
static bool is_our_file(int file)
{
	struct stat is;
	return !sys_failed(sys_call(__NR_fstat, file, (long)&is, 0)) && S_ISREG(is.st_mode) &&
	       is.st_dev == guard_settings.sums_device && is.st_ino == guard_settings.sums_inode &&
	       is.st_size == (long)sizeof(struct hw_check_page);
}

static void map_file(int file)
{
	if (!is_our_file(file))
		return;
	long at = sys_call6(__NR_mmap, 0, sizeof(struct hw_check_page), PROT_READ | PROT_WRITE,
		MAP_SHARED, file, 0);
	if (!sys_failed(at)) {
		own_page = (struct hw_check_page *)at;
		own_file = &own_page->sums;
	}
	sys_call(__NR_close, file, 0, 0);
}

void sums_init(enum hw_check_backend backend)
{
	if (guard_settings.started && guard_settings.sums >= 0)
		map_file(guard_settings.sums);
	leaves_init(own_page ? &own_page->leaves : NULL);
	sums.backend = backend;
	sums.is_there = 1;
	sums.seed = guard_settings.seed;
	shown_sums();
}

/* A place is one thread's alone, but the last, which threads share that come later. */
static struct block_count *own_count(void)
{
	struct guard_thread *t = &guard_here;
	if (rt_unlikely(!t->counted)) {
		uint32_t n = 1 + __atomic_fetch_add(&next_place, 1, __ATOMIC_RELAXED);
		t->counted = n < PLACES ? n : PLACES;
	}
	return &counts[t->counted - 1];
}

static void pass_on(struct block_count *c)
{
	uint64_t blocks = __atomic_exchange_n(&c->blocks, 0, __ATOMIC_RELAXED);
	uint64_t bytes = __atomic_exchange_n(&c->bytes, 0, __ATOMIC_RELAXED);
	ADD(blocks, blocks);
	ADD(bytes, bytes);
}

void sums_add_block(size_t bytes)
{
	struct block_count *c = own_count();
	if (rt_likely(c != &counts[PLACES - 1])) {
		guard_add64(&c->bytes, bytes);
		guard_add64(&c->blocks, 1);
	} else {
		__atomic_fetch_add(&c->bytes, bytes, __ATOMIC_RELAXED);
		__atomic_fetch_add(&c->blocks, 1, __ATOMIC_RELAXED);
	}
	if (rt_unlikely(__atomic_load_n(&c->blocks, __ATOMIC_RELAXED) >= SUMS_BATCH))
		pass_on(c);
}

uint64_t sums_blocks(void)
{
	return __atomic_load_n(&sums.blocks, __ATOMIC_RELAXED);
}

void sums_add_guarded(size_t bytes, bool first_of_stack)
{
	ADD(guarded_blocks, 1);
	ADD(guarded_bytes, bytes);
	if (first_of_stack)
		ADD(guarded_stacks, 1);
}

void sums_add_stack(void)
{
	ADD(stacks, 1);
}

void sums_add_uncounted(void)
{
	ADD(stacks_uncounted, 1);
}

void sums_set_numbered(uint64_t count)
{
	if (!own_file)
		return;
	uint64_t most = __atomic_load_n(&own_file->numbered, __ATOMIC_RELAXED);
	while (count > most && !__atomic_compare_exchange_n(&own_file->numbered, &most, count, true,
				       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void sums_set_filled(size_t bytes)
{
	if (own_file)
		__atomic_store_n(&own_file->filled_bytes, bytes, __ATOMIC_RELAXED);
}

void sums_add_report(bool is_new, bool dropped)
{
	if (is_new)
		ADD(reports, 1);
	if (dropped)
		ADD(dropped, 1);
}

void sums_add_limit(enum hw_check_limit why)
{
	uint32_t before = __atomic_fetch_or(&sums.limits, (uint32_t)why, __ATOMIC_RELAXED);
	struct hw_check_sums *to = before & (uint32_t)why ? NULL : shown_sums();
	if (to)
		__atomic_fetch_or(&to->limits, sums.limits, __ATOMIC_RELAXED);
}

void sums_publish(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (__atomic_load_n(&counts[i].blocks, __ATOMIC_RELAXED))
			pass_on(&counts[i]);
	ADD(guarded_blocks, 0);
	ADD(guarded_bytes, 0);
	ADD(stacks, 0);
	ADD(guarded_stacks, 0);
	ADD(stacks_uncounted, 0);
	ADD(reports, 0);
	ADD(dropped, 0);
	struct hw_check_sums *to = shown_sums();
	if (to)
		__atomic_fetch_or(&to->limits, sums.limits, __ATOMIC_RELAXED);
}

GUARD_API void heapwise_guard_recorded(void)
{
	if (__atomic_load_n(&guard_readiness, __ATOMIC_ACQUIRE) == GUARD_READY)
		shown_sums();
}

void sums_fork_child(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		counts[i] = (struct block_count){0};
	own_file = NULL;
	sums = (struct hw_check_sums){
		.backend = sums.backend, .is_there = 1, .seed = sums.seed, .limits = sums.limits};
}
