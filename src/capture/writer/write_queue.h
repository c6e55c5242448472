/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that compresses and writes chunks, for all recordings of a collector, so that the
 * collector goes on reading rings meanwhile. What is written, and in which order, does not depend
 * on it. Made where a processor is likely to be free for it; decisions/0018-writer-thread.md.
 *
 * A writer with chunks in the queue belongs to the thread, and is the caller's again once none of
 * them is left: writer.c waits for that before it does anything else with the file. The number of a
 * writer's chunks and its latest error are guarded by the queue's lock.
 *
 *	queue = write_queue_create(WRITE_QUEUE_CHUNK_BYTES);   no thread yet
 *	writer.queue = queue;
 *	writer_hand_over(&writer, …);   the first large chunk starts the thread
 *	writer_close(&writer);          waits
 *	write_queue_destroy(queue);     after all its writers
 */
#ifndef CAPTURE_WRITE_QUEUE_H
#define CAPTURE_WRITE_QUEUE_H

#include "base/buf.h"
#include "format/hpw.h"

#include <stdbool.h>
#include <stddef.h>

struct writer;
struct write_queue;

/* With fewer processors the program and its collector need them all. */
#define WRITE_QUEUE_PROCESSORS 4
/* What may wait: about three chunks of events with what belongs to them. */
#define WRITE_QUEUE_CHUNKS_MAX 16u
#define WRITE_QUEUE_BYTES_MAX (4u << 20)
/* A smaller chunk takes less time than waking the thread is worth. */
#define WRITE_QUEUE_CHUNK_BYTES (64u << 10)

/* Returns whether this process may run on so many processors that a thread for writing pays. */
bool write_queue_is_useful(void);

/* Returns a queue, still without a thread; NULL: no memory. A chunk with fewer bytes than `least`
 * does not wake the thread. */
struct write_queue *write_queue_create(size_t least);

/* Ends the thread. The queue has no writers any more. NULL is allowed. */
void write_queue_destroy(struct write_queue *queue);

/*
 * Queues a chunk of a writer. Takes over what is in *payload and leaves an empty buffer. Waits as
 * long as too much is in the queue. Returns false, and does nothing, if the caller should rather
 * write the chunk itself: it is small and none is before it, or there can be no thread.
 */
bool write_queue_add(struct write_queue *queue, struct writer *writer, enum hpw_chunk_type type,
	struct buf *payload, bool compress);

/* Waits until no chunk of the writer is in the queue. */
void write_queue_wait(struct write_queue *queue, const struct writer *writer);

/* Returns the first error of a chunk since the last call, which the caller owns; NULL: none. Does
 * not wait. */
struct error *write_queue_take_error(struct write_queue *queue, struct writer *writer);

#endif
