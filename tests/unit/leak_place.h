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

static struct hold hold;
static struct process_memory memory;
static struct live live;
static struct tally tally;
static struct spared spared;
static struct hw_shm *shm;
static struct leak_place place;
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
	CHECK(process_map_vec_push(&hold.maps.maps, map));
	return &hold.maps.maps.data[hold.maps.maps.len - 1];
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
	const struct live_block block = {.address = base + offset, .size = size};
	CHECK(live_add(&live, &block) == LIVE_ADDED);
}

static void place_init(void)
{
	uint64_t at = (uint64_t)(uintptr_t)reserve(AREA_BYTES + 64 * MIB);
	base = (at + 64 * MIB - 1) & ~(64 * MIB - 1);
	shm = reserve(HW_SHM_BYTES);
	live_init(&live);
	tally_init(&tally);
	spared_init(&spared);
	hold = (struct hold){.keeper = -1, .channel = -1};
	hold.pid = hold.process = hold.owner = getpid();
	CHECK_OK(process_memory_open(getpid(), getpid(), NULL, &memory));
	place = (struct leak_place){.hold = &hold,
		.memory = &memory,
		.live = &live,
		.tally = &tally,
		.spared = &spared,
		.shm = shm};
}

static void place_deinit(void)
{
	process_map_vec_deinit(&hold.maps.maps);
	hold_threads_deinit(&hold.threads);
	spared_deinit(&spared);
	tally_deinit(&tally);
	live_deinit(&live);
	process_memory_close(&memory);
}

#endif
