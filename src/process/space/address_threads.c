/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * glibc's struct pthread (nptl/descr.h) has the thread's number, and after that the list of robust
 * mutexes that it holds, whose two pointers point at the list itself while it is empty:
 *
 *     at       tid, (other)
 *     at + 8   robust_prev  = at + 16
 *     at + 16  robust_head  = at + 16
 *
 * On x86-64 the thread pointer is where the structure begins. On aarch64 it is where the structure
 * ends: there stands a pointer to the thread's table of thread-local memory (dtv), which has the
 * address of a first piece, soon after the thread pointer (sysdeps/aarch64/nptl/tls.h, "variant
 * 1").
 */
#include "process/address_threads.h"

#include <elf.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define PIECE_BYTES (64u << 10)
#define STACK_BYTES_MAX (16ull << 20)
/* Of another mapping: the first thread's is at the beginning of one. */
#define MAPPING_BYTES_MAX (1ull << 20)
#define ALL_BYTES_MAX (1ull << 30)
/* offsetof(struct pthread, tid) of x86-64. */
#define X86_NUMBER_OFFSET 0x2d0u
/* On aarch64 the structure ends so far after its number, and no piece is farther away. */
#define ARM_END_MAX 0x1000u
#define ARM_PIECE_MAX (1ull << 20)
#define TABLE_LENGTH_MAX (1ull << 20)

struct finding {
	struct address_space *space;
	uint64_t *numbers; /* tid << 32 | place among the threads, ascending */
	size_t count, left;
	uint64_t *words; /* of a piece */
	uint64_t budget;
};

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* NULL: no thread without a pointer has that number. */
static struct address_thread *find_thread(const struct finding *f, uint32_t tid)
{
	size_t low = 0, high = f->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (f->numbers[middle] >> 32 < tid)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == f->count || f->numbers[low] >> 32 != tid)
		return NULL;
	struct address_thread *thread = &f->space->threads.data[(uint32_t)f->numbers[low]];
	return thread->thread_pointer ? NULL : thread;
}

/* Whether at an address stands what aarch64's thread pointer points to. */
static bool is_arm_pointer(const struct address_space *space, uint64_t at, uint64_t table)
{
	uint64_t words[5]; /* length, (other), generation, (other), the first piece */
	return table % 16 == 0 && table > 16 &&
	       address_space_read(space, table - 16, words, sizeof(words)) == sizeof(words) &&
	       words[0] && words[0] < TABLE_LENGTH_MAX && words[2] < UINT32_MAX &&
	       words[4] - at >= 16 && words[4] - at < ARM_PIECE_MAX;
}

static uint64_t find_arm_pointer(const struct address_space *space, uint64_t number)
{
	uint64_t words[ARM_END_MAX / 8];
	uint64_t start = (number + 15) & ~15ull;
	size_t n = address_space_read(space, start, words, sizeof(words)) / 8;
	for (size_t i = 0; i < n; i += 2) {
		if (words[i] && is_arm_pointer(space, start + 8 * i, words[i]))
			return start + 8 * i;
	}
	return 0;
}

static uint64_t find_x86_pointer(const struct address_space *space, uint64_t number)
{
	uint64_t words[3], start = number - X86_NUMBER_OFFSET;
	return address_space_read(space, start, words, sizeof(words)) == sizeof(words) &&
			       words[0] == start && words[2] == start
		       ? start
		       : 0;
}

uint64_t address_thread_pointer(const struct address_space *space, uint64_t number)
{
	return space->machine == EM_X86_64 ? find_x86_pointer(space, number)
					   : find_arm_pointer(space, number);
}

static void take_thread_pointer(struct finding *f, uint64_t number, uint32_t tid)
{
	struct address_thread *thread = find_thread(f, tid);
	if (!thread)
		return;
	thread->thread_pointer = address_thread_pointer(f->space, number);
	f->left -= thread->thread_pointer != 0;
}

static void look_through(struct finding *f, uint64_t start, uint64_t bytes)
{
	bytes = bytes < f->budget ? bytes : f->budget;
	f->budget -= bytes;
	start = (start + 7) & ~7ull;
	/* Two words are looked at twice where pieces meet. */
	for (uint64_t at = 0; f->left && at + 24 <= bytes; at += PIECE_BYTES - 16) {
		uint64_t most = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
		size_t n = address_space_read(f->space, start + at, f->words, most) / 8;
		for (size_t i = 0; i + 3 <= n; i++) {
			uint64_t number = start + at + 8 * i;
			if (f->words[i + 1] == number + 16 && f->words[i + 2] == number + 16)
				take_thread_pointer(f, number, (uint32_t)f->words[i]);
		}
	}
}

static void look_at_stacks(struct finding *f)
{
	for (size_t i = 0; i < f->space->threads.len && f->left; i++) {
		const struct address_thread *thread = &f->space->threads.data[i];
		const struct process_map *map =
			thread->thread_pointer ? NULL : address_space_map(f->space, thread->sp);
		if (!map || !map->writable)
			continue;
		uint64_t bytes = map->end - thread->sp;
		look_through(f, thread->sp, bytes < STACK_BYTES_MAX ? bytes : STACK_BYTES_MAX);
	}
}

static void look_at_mappings(struct finding *f)
{
	for (size_t i = 0; i < f->space->maps.maps.len && f->left; i++) {
		const struct process_map *map = &f->space->maps.maps.data[i];
		uint64_t bytes = map->end - map->start;
		if (address_map_is_anonymous(map))
			look_through(f, map->start,
				bytes < MAPPING_BYTES_MAX ? bytes : MAPPING_BYTES_MAX);
	}
}

struct error *address_threads_find(struct address_space *space)
{
	const struct address_threads *threads = &space->threads;
	_cleanup_free_ uint64_t *numbers = calloc(threads->len + 1, sizeof(*numbers));
	_cleanup_free_ uint64_t *words = malloc(PIECE_BYTES);
	if (!numbers || !words)
		return error_no_memory();
	struct finding f = {
		.space = space, .numbers = numbers, .words = words, .budget = ALL_BYTES_MAX};
	for (size_t i = 0; i < threads->len; i++) {
		if (!threads->data[i].thread_pointer)
			numbers[f.count++] = (uint64_t)(uint32_t)threads->data[i].tid << 32 | i;
	}
	f.left = f.count;
	if (f.count)
		qsort(numbers, f.count, sizeof(*numbers), by_number);
	look_at_stacks(&f);
	look_at_mappings(&f);
	return NULL;
}
