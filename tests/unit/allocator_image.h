/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of a program with an allocator's heap, put together word by word, and what is to be found
 * in it. */
#ifndef TESTS_UNIT_ALLOCATOR_IMAGE_H
#define TESTS_UNIT_ALLOCATOR_IMAGE_H

#include "heap/heap_scan.h"
#include "lib/core_builder.h"
#include "lib/tap.h"

#define LIBRARY 0x7f0000000000ull
#define TLS 0x7f8000000000ull
#define TLS_BYTES 0x2000ull
#define THREAD (TLS + TLS_BYTES - 0x800)

struct allocator_block {
	uint64_t address, size;
	enum block_state state;
};

struct allocator_image {
	struct core_builder core;
	struct allocator_block blocks[512];
	size_t count;
	const char *damage[4]; /* in order */
	size_t damaged;
	bool is_mid_update; /* a thread is in the middle of a change: damage may be that */
};

/* A block is to be found. */
static void allocator_image_expect(
	struct allocator_image *image, uint64_t address, uint64_t size, enum block_state state)
{
	image->blocks[image->count++] = (struct allocator_block){address, size, state};
}

static struct error *take(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct allocator_image *image = context;
	(void)bytes, (void)len;
	for (size_t i = 0; i < image->count; i++) {
		struct allocator_block *e = &image->blocks[i];
		if (e->address != block->address)
			continue;
		CHECK_U64(block->size, e->size);
		CHECK_U64(block->state, e->state);
		e->address = 0; /* told once */
		return NULL;
	}
	CHECK_U64(block->address, 0);
	return NULL;
}

/* Reads it as a core's: checks that all blocks are found, each once and no others, all of that
 * allocator, and the damage. Frees the image. */
static void allocator_image_check(struct allocator_image *image, enum heap_allocator allocator)
{
	struct core_file file;
	struct address_space space;
	struct heap heap;
	core_builder_word(&image->core, THREAD, THREAD);
	image->core.thread_pointers[0] = THREAD;
	image->core.threads = 1;
	CHECK_OK(core_file_open_fd(core_builder_file(&image->core), "core", &file));
	CHECK_OK(address_space_of_core(&file, NULL, &space));
	CHECK_OK(heap_open(&space, &heap));
	for (size_t i = 0; i < heap.areas.len; i++)
		CHECK_U64(heap.areas.data[i].allocator, allocator);
	struct heap_sink sink = {image, take};
	CHECK_OK(heap_walk(&heap, &sink));
	CHECK_U64(heap.damage.len, image->damaged);
	for (size_t i = 0; i < heap.damage.len && i < image->damaged; i++) {
		CHECK_STR(heap.damage.data[i].what, image->damage[i]);
		CHECK_U64(heap.damage.data[i].amid, image->is_mid_update);
	}
	for (size_t i = 0; i < image->count; i++)
		CHECK_U64(image->blocks[i].address, 0);
	heap_close(&heap);
	address_space_close(&space);
	core_file_close(&file);
	core_builder_deinit(&image->core);
	free(image);
}

/* An empty one. */
static struct allocator_image *allocator_image_begin(void)
{
	return calloc(1, sizeof(struct allocator_image));
}

#endif
