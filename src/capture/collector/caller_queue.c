/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/caller_queue.h"

#include "base/util.h"

#include <stdlib.h>
#include <unistd.h>

bool caller_queue_init(struct caller_queue *queue, uint64_t max)
{
	uint32_t most = (uint32_t)min(max, (uint64_t)CALLER_QUEUE_MAX);
	*queue = (struct caller_queue){.max = most ? most : 1};
	queue->places = calloc(queue->max, sizeof(*queue->places));
	return queue->places;
}

void caller_queue_deinit(struct caller_queue *queue)
{
	struct session_caller caller;
	while (caller_queue_take(queue, &caller) != SESSION_UNKNOWN) {
		if (caller.connection >= 0)
			close(caller.connection);
	}
	free(queue->places);
	queue->places = NULL;
}

bool caller_queue_is_full(const struct caller_queue *queue)
{
	return queue->count == queue->max;
}

static struct queued_caller *place_at(const struct caller_queue *queue, uint32_t number)
{
	return &queue->places[(queue->first + number) % queue->max];
}

void caller_queue_add(
	struct caller_queue *queue, const struct session_caller *caller, enum session_call call)
{
	*place_at(queue, queue->count++) = (struct queued_caller){.caller = *caller, .call = call};
}

enum session_call caller_queue_take(struct caller_queue *queue, struct session_caller *ret)
{
	if (!queue->count)
		return SESSION_UNKNOWN;
	const struct queued_caller *one = place_at(queue, 0);
	*ret = one->caller;
	queue->count--;
	/* An empty one begins at its beginning, so that the same few places are in memory. */
	queue->first = queue->count ? (queue->first + 1) % queue->max : 0;
	return one->call;
}

void caller_queue_ask(struct caller_queue *queue, uint64_t now_ns)
{
	for (uint32_t i = 0; i < queue->count; i++) {
		struct queued_caller *one = place_at(queue, i);
		if (one->call != SESSION_HELLO ||
			(one->asked_ns && now_ns - one->asked_ns < CALLER_QUEUE_PAUSE_NS))
			continue;
		session_ask_to_wait(&one->caller);
		one->asked_ns = now_ns;
	}
}
