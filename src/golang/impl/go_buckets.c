/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "golang/impl/go_buckets.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_HEAP 1u
/* What GODEBUG=profstackdepth allows (Go 1.23). */
#define FRAMES_MAX 1024u
/* Frames that are read with the rest of a bucket, at once. */
#define FRAMES_USUAL 32u
#define BUCKETS_MAX (1u << 24)
#define CYCLES 4u
#define FIGURE_WORDS ((size_t)CYCLES * 4)
/* Readings of figures until two agree. */
#define SETTLE_TRIES 8u

struct bucket_head {
	uint64_t next_of_hash, next, type, hash, size, frames;
};

struct bucket_bytes {
	struct bucket_head head;
	uint64_t words[FRAMES_MAX + FIGURE_WORDS];
};

static bool memory_has(const struct go_memory *memory, uint64_t address, void *ret, size_t bytes)
{
	return memory->read(memory->context, address, ret, bytes) == bytes;
}

/* As stkbucket() in runtime/mprof.go. */
static uint64_t frames_hash(const uint64_t *frames, uint64_t count, uint64_t size)
{
	uint64_t hash = 0;
	for (uint64_t i = 0; i < count; i++) {
		hash += frames[i];
		hash += hash << 10;
		hash ^= hash >> 6;
	}
	hash += size;
	hash += hash << 10;
	hash ^= hash >> 6;
	hash += hash << 3;
	return hash ^ hash >> 11;
}

/* Returns why there is no bucket; NULL: it was read, with its figures. */
static const char *bucket_read(
	const struct go_memory *memory, uint64_t address, struct bucket_bytes *ret)
{
	struct bucket_head *head = &ret->head;
	size_t usual = sizeof(*head) + (FRAMES_USUAL + FIGURE_WORDS) * 8;
	size_t got = address % 8 ? 0 : memory->read(memory->context, address, ret, usual);
	if (got < sizeof(*head))
		return "its memory can't be read";
	if (head->type != TYPE_HEAP)
		return "its type is another than that of heap profiles";
	if (head->frames > FRAMES_MAX)
		return "it has more frames than a stack may have";
	size_t bytes = sizeof(*head) + (size_t)(head->frames + FIGURE_WORDS) * 8;
	if (got < bytes && !memory_has(memory, address, ret, bytes))
		return "its memory can't be read";
	if (head->frames > FRAMES_MAX ||
		head->hash != frames_hash(ret->words, head->frames, head->size))
		return "its hash is not that of its stack";
	return NULL;
}

bool go_bucket_recognise(const struct go_memory *memory, uint64_t address)
{
	struct bucket_bytes bytes;
	return address && !bucket_read(memory, address, &bytes);
}

static void figures_add(struct go_figures *to, const struct go_figures *more)
{
	to->allocations += more->allocations;
	to->frees += more->frees;
	to->allocated_bytes += more->allocated_bytes;
	to->freed_bytes += more->freed_bytes;
}

bool go_figures_equal(const struct go_figures *a, const struct go_figures *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Of a moment between two writes of the runtime the sums contradict each other. */
static bool figures_hold(const struct go_figures *figures)
{
	return figures->frees <= figures->allocations &&
	       figures->freed_bytes <= figures->allocated_bytes;
}

static void bucket_sum(struct go_bucket *bucket, const struct go_figures cycles[static CYCLES])
{
	bucket->published = bucket->now = cycles[0];
	for (size_t i = 1; i < CYCLES; i++)
		figures_add(&bucket->now, &cycles[i]);
}

/* Whether nothing but allocations and frees came between two readings, each as a whole: then those
 * published are the same, of the others none is less, and all are of blocks of the bucket's size.
 */
static bool figures_only_grew(const struct go_bucket *bucket,
	const struct go_figures before[static CYCLES], const struct go_figures after[static CYCLES])
{
	if (!go_figures_equal(&before[0], &after[0]))
		return false;
	for (size_t i = 1; i < CYCLES; i++)
		if (after[i].allocations < before[i].allocations ||
			after[i].frees < before[i].frees)
			return false;
	return bucket->now.allocated_bytes == bucket->now.allocations * bucket->size &&
	       bucket->now.freed_bytes == bucket->now.frees * bucket->size;
}

/*
 * The runtime moves a cycle's figures to those published by adding, then clearing. Figures that are
 * the same twice are those of a moment in which it does not; so are those of a stack at which the
 * program allocates all the time, if they did nothing but grow.
 */
static bool bucket_settle(const struct go_memory *memory, struct go_bucket *bucket,
	const struct go_figures first[static CYCLES])
{
	struct go_figures before[CYCLES], after[CYCLES];
	bool is_grown = false;
	memcpy(before, first, sizeof(before));
	for (unsigned i = 0; i < SETTLE_TRIES; i++) {
		if (!memory_has(memory, bucket->figures_at, after, sizeof(after)))
			return false;
		bucket_sum(bucket, after);
		if (!memcmp(before, after, sizeof(after)) && figures_hold(&bucket->now) &&
			figures_hold(&bucket->published))
			return true;
		is_grown = figures_only_grew(bucket, before, after);
		memcpy(before, after, sizeof(before));
	}
	return is_grown;
}

static struct error *bucket_add(const struct go_memory *memory, uint64_t address,
	const struct bucket_bytes *bytes, struct go_buckets *ret)
{
	uint64_t frames = bytes->head.frames;
	struct go_bucket bucket = {.figures_at = address + sizeof(bytes->head) + frames * 8,
		.size = bytes->head.size,
		.first_frame = ret->frames.len,
		.frame_count = (uint32_t)frames};
	struct go_figures cycles[CYCLES];
	memcpy(cycles, bytes->words + frames, sizeof(cycles));
	bool is_settled = bucket_settle(memory, &bucket, cycles);
	ret->unsettled += !is_settled;
	if (!figures_hold(&bucket.now) || !figures_hold(&bucket.published))
		return NULL; /* counted as unsettled */
	for (uint64_t i = 0; i < frames; i++)
		if (!go_frame_vec_push(&ret->frames, bytes->words[i]))
			return error_no_memory();
	return go_bucket_vec_push(&ret->buckets, bucket) ? NULL : error_no_memory();
}

struct error *go_buckets_read(
	const struct go_memory *memory, uint64_t first, const char *program, struct go_buckets *ret)
{
	*ret = (struct go_buckets){.unsettled = 0};
	struct bucket_bytes *bytes = malloc(sizeof(*bytes));
	struct error *error = bytes ? NULL : error_no_memory();
	uint64_t count = 0, passed = 0;
	for (uint64_t at = first; at && !error; at = bytes->head.next) {
		const char *why = at == passed           ? "the list leads back to it"
				  : count >= BUCKETS_MAX ? "there are too many"
							 : bucket_read(memory, at, bytes);
		/* One that is remembered at each power of two is met again on any circle (Brent).
		 */
		if (!(count & (count - 1)))
			passed = at;
		count++;
		error = why ? error_create(ERROR_INPUT,
				      "the heap profile of %s can't be read: bucket %" PRIu64
				      " at 0x%" PRIx64
				      " is none of the layout of Go 1.19 and later: %s",
				      program, count, at, why)
			    : bucket_add(memory, at, bytes, ret);
	}
	free(bytes);
	if (error)
		go_buckets_deinit(ret);
	return error;
}

void go_buckets_deinit(struct go_buckets *buckets)
{
	go_bucket_vec_deinit(&buckets->buckets);
	go_frame_vec_deinit(&buckets->frames);
	*buckets = (struct go_buckets){.unsettled = 0};
}

void go_figures_estimate(
	uint64_t count, uint64_t bytes, uint64_t rate, uint64_t *ret_count, uint64_t *ret_bytes)
{
	*ret_count = count;
	*ret_bytes = bytes;
	if (!count || !bytes)
		*ret_count = *ret_bytes = 0;
	if (!count || !bytes || rate <= 1)
		return;
	double mean = (double)bytes / (double)count;
	double scale = 1 / (1 - exp(-mean / (double)rate));
	*ret_count = (uint64_t)((double)count * scale);
	*ret_bytes = (uint64_t)((double)bytes * scale);
}
