/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that a process shares with its collector, made by hand: rings are filled word by word,
 * as the words of shm.h say and without a line of the runtime.
 */
#ifndef TESTS_RING_IMAGE_H
#define TESTS_RING_IMAGE_H

#include <stdint.h>
#include <sys/mman.h>

#include "format/kinds.h"
#include "format/shm.h"
#include "lib/tap.h"

static inline struct hw_shm *image_create(void)
{
	void *at = mmap(NULL, HW_SHM_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(at != MAP_FAILED);
	struct hw_shm *shm = at;
	shm->nodes = shm->modules = 1;
	return shm;
}

static inline void image_destroy(struct hw_shm *shm)
{
	munmap(shm, HW_SHM_BYTES);
}

static inline struct hw_ring *image_ring(struct hw_shm *shm, uint32_t ring)
{
	return (struct hw_ring *)((char *)shm + HW_SHM_RINGS) + ring;
}

static inline struct hw_node *image_nodes(struct hw_shm *shm)
{
	return (struct hw_node *)((char *)shm + HW_SHM_NODES);
}

/* The ring gets a new producer. */
static inline void image_claim(struct hw_shm *shm, uint32_t ring, uint32_t tid)
{
	struct hw_ring *r = image_ring(shm, ring);
	r->state = HW_RING_ACTIVE;
	r->tid = tid;
	r->generation++;
}

static inline uint64_t *image_word(struct hw_shm *shm, uint32_t ring, uint64_t number)
{
	uint64_t *data = (uint64_t *)((char *)shm + HW_SHM_DATA) + hw_ring_start(ring);
	return &data[number & (hw_ring_words(ring) - 1)];
}

/* Writes the words of one record and publishes it. It must fit the lap. */
static inline void image_put_words(
	struct hw_shm *shm, uint32_t ring, const uint64_t *words, size_t count)
{
	struct hw_ring *r = image_ring(shm, ring);
	for (size_t i = 0; i < count; i++)
		*image_word(shm, ring, r->head + i) = words[i];
	r->head += count;
}

#define image_put(shm, ring, ...)                                                                  \
	image_put_words(shm, ring, (const uint64_t[]){__VA_ARGS__},                                \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* First words. */
#define W_ALLOC(address) ((uint64_t)HW_R_ALLOC | (uint64_t)(address) << 8)
#define W_FREE(address) ((uint64_t)HW_R_FREE | (uint64_t)(address) << 8)
#define W_REALLOC(address) ((uint64_t)HW_R_REALLOC | (uint64_t)(address) << 8)
#define W_MOVING(address) ((uint64_t)HW_R_MOVING | (uint64_t)(address) << 8)
#define W_FOREIGN(tid) ((uint64_t)HW_R_FOREIGN | (uint64_t)(tid) << 8)
#define W_LOST(count) ((uint64_t)HW_R_LOST | (uint64_t)(count) << 8)
#define W_MARK(bytes) ((uint64_t)HW_R_MARK | (uint64_t)(bytes) << 8)
/* Second word. */
#define W_SIZED(stack, size) ((uint64_t)(stack) | (uint64_t)(size) << 32)

#endif
