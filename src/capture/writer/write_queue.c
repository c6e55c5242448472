/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/writer/write_queue.h"

#include "base/cleanup.h"
#include "capture/writer.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

/* Processors that a mask has room for: more than the kernel can be made for. */
#define MASK_PROCESSORS 8192
#define STACK_BYTES (256u << 10)
/* A larger buffer is not kept for the next chunk. */
#define BYTES_KEPT (1u << 20)

struct write_job {
	struct writer *writer;
	enum hpw_chunk_type type;
	bool compress;
	struct buf payload; /* of a job that is done: empty, reused */
};

enum write_thread { THREAD_NONE, THREAD_RUNS, THREAD_REFUSED };

struct write_queue {
	pthread_mutex_t lock;      /* of all below, and of each writer's `queued` and `late` */
	pthread_cond_t more, less; /* signalled when a job has come; when one is done */
	pthread_t thread;
	enum write_thread state;
	size_t least; /* of a chunk that wakes the thread */
	bool ends;
	struct write_job jobs[WRITE_QUEUE_CHUNKS_MAX]; /* a ring */
	unsigned first, count; /* the first one is being written, with the lock released */
	size_t bytes;
};

bool write_queue_is_useful(void)
{
	unsigned long mask[MASK_PROCESSORS / (8 * sizeof(unsigned long))];
	if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)mask))
		return false;
	return CPU_COUNT_S(sizeof(mask), (cpu_set_t *)mask) >= WRITE_QUEUE_PROCESSORS;
}

struct write_queue *write_queue_create(size_t least)
{
	struct write_queue *queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	queue->least = least;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->more, NULL);
	pthread_cond_init(&queue->less, NULL);
	return queue;
}

void write_queue_destroy(struct write_queue *queue)
{
	if (!queue)
		return;
	pthread_mutex_lock(&queue->lock);
	queue->ends = true;
	pthread_cond_signal(&queue->more);
	pthread_mutex_unlock(&queue->lock);
	if (queue->state == THREAD_RUNS)
		pthread_join(queue->thread, NULL);
	for (unsigned i = 0; i < WRITE_QUEUE_CHUNKS_MAX; i++)
		buf_deinit(&queue->jobs[i].payload);
	pthread_cond_destroy(&queue->less);
	pthread_cond_destroy(&queue->more);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

static void job_done(struct write_queue *queue, struct write_job *job, struct error *error)
{
	struct writer *writer = job->writer;
	if (!writer->late)
		writer->late = steal_ptr(error);
	error_destroy(error);
	writer->queued--;
	queue->bytes -= job->payload.len;
	if (job->payload.cap > BYTES_KEPT)
		buf_deinit(&job->payload);
	buf_clear(&job->payload);
	queue->first = (queue->first + 1) % WRITE_QUEUE_CHUNKS_MAX;
	queue->count--;
	pthread_cond_broadcast(&queue->less);
}

static void *write_thread(void *argument)
{
	struct write_queue *queue = argument;
	pthread_mutex_lock(&queue->lock);
	for (;;) {
		while (!queue->count && !queue->ends)
			pthread_cond_wait(&queue->more, &queue->lock);
		if (!queue->count)
			break;
		struct write_job *job = &queue->jobs[queue->first];
		pthread_mutex_unlock(&queue->lock);
		struct error *error =
			writer_append_chunk(job->writer, job->type, &job->payload, job->compress);
		pthread_mutex_lock(&queue->lock);
		job_done(queue, job, error);
	}
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

/* Signals are for the collector's own thread. */
static enum write_thread thread_start(struct write_queue *queue)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	if (pthread_attr_init(&attributes))
		return THREAD_REFUSED;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&queue->thread, &attributes, write_thread, queue);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (failed)
		return THREAD_REFUSED;
	pthread_setname_np(queue->thread, "heapwise-write");
	return THREAD_RUNS;
}

static bool is_full(const struct write_queue *queue, size_t bytes)
{
	return queue->count == WRITE_QUEUE_CHUNKS_MAX ||
	       (queue->count && queue->bytes + bytes > WRITE_QUEUE_BYTES_MAX);
}

bool write_queue_add(struct write_queue *queue, struct writer *writer, enum hpw_chunk_type type,
	struct buf *payload, bool compress)
{
	pthread_mutex_lock(&queue->lock);
	bool takes = writer->queued || payload->len >= queue->least;
	if (takes && queue->state == THREAD_NONE)
		queue->state = thread_start(queue);
	takes = takes && queue->state == THREAD_RUNS;
	while (takes && is_full(queue, payload->len))
		pthread_cond_wait(&queue->less, &queue->lock);
	if (takes) {
		unsigned at = (queue->first + queue->count++) % WRITE_QUEUE_CHUNKS_MAX;
		struct buf empty = queue->jobs[at].payload;
		queue->jobs[at] = (struct write_job){writer, type, compress, *payload};
		queue->bytes += payload->len;
		*payload = empty;
		writer->queued++;
		pthread_cond_signal(&queue->more);
	}
	pthread_mutex_unlock(&queue->lock);
	return takes;
}

void write_queue_wait(struct write_queue *queue, const struct writer *writer)
{
	pthread_mutex_lock(&queue->lock);
	while (writer->queued)
		pthread_cond_wait(&queue->less, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

struct error *write_queue_take_error(struct write_queue *queue, struct writer *writer)
{
	pthread_mutex_lock(&queue->lock);
	struct error *error = steal_ptr(writer->late);
	pthread_mutex_unlock(&queue->lock);
	return error;
}
