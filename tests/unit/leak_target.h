/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A held process by hand, for what tells its heaps and roots: mappings that a case makes up, over
 * memory of the test's own.
 */
#ifndef UNIT_LEAK_PLACE_H
#define UNIT_LEAK_PLACE_H

#include <sys/mman.h>

#include "capture/leaks/leak_heaps.h"
#include "capture/leaks/leak_roots.h"
#include "lib/tap.h"

#define MIB (1ull << 20)
#define AREA_BYTES (256 * MIB)
#define LIBC_INODE 77u

static struct paused_target target;
static struct process_memory memory;
static struct live_table live;
static struct tally tally;
static struct lsan_annotations annotations;
static struct hw_shm *shm;
static struct leak_target place;
static uint64_t base; /* a multiple of 64 MiB; there is all memory */

static void *reserve(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(at != MAP_FAILED);
	return at;
}

/* At an offset from `base`; ascending. */
static struct process_map *add_map(uint64_t start, uint64_t bytes, const char *path)
{
	const struct process_map map = {.start = base + start,
		.end = base + start + bytes,
		.readable = true,
		.writable = true,
		.path = path};
	CHECK(process_map_vec_push(&target.maps.maps, map));
	return &target.maps.maps.data[target.maps.maps.len - 1];
}

/* Data of libc, whose function allocates. */
static void add_libc(uint64_t start, uint64_t bytes)
{
	struct process_map *map = add_map(start, bytes, "/usr/lib/libc.so.6");
	map->inode = LIBC_INODE;
	shm->allocator = map->start;
}

static uint64_t *words(uint64_t offset)
{
	return (uint64_t *)(uintptr_t)(base + offset);
}

static void add_block(uint64_t offset, uint64_t size)
{
	const struct live_entry block = {.address = base + offset, .size = size};
	CHECK(live_table_add(&live, &block) == LIVE_ADDED);
}

static void place_init(void)
{
	uint64_t at = (uint64_t)(uintptr_t)reserve(AREA_BYTES + 64 * MIB);
	base = (at + 64 * MIB - 1) & ~(64 * MIB - 1);
	shm = reserve(HW_SHM_BYTES);
	live_table_init(&live);
	tally_init(&tally);
	lsan_annotations_init(&annotations);
	target = (struct paused_target){.keeper = -1, .channel = -1};
	target.pid = target.process = target.owner = getpid();
	CHECK_OK(process_memory_open(getpid(), getpid(), NULL, &memory));
	place = (struct leak_target){.target = &target,
		.memory = &memory,
		.live = &live,
		.tally = &tally,
		.annotations = &annotations,
		.shm = shm};
}

static void place_deinit(void)
{
	process_map_vec_deinit(&target.maps.maps);
	paused_threads_deinit(&target.threads);
	lsan_annotations_deinit(&annotations);
	tally_deinit(&tally);
	live_table_deinit(&live);
	process_memory_close(&memory);
}

#endif
