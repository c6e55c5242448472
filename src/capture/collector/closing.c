/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/closing.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Below that many live blocks completing takes less than making a thread is worth. */
#define BLOCKS_MIN (64u << 10)
/* Each holds what a recorder holds until it is done. */
#define THREADS_MAX 4u

bool closings_init(struct closings *closings)
{
	*closings = (struct closings){.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	return closings->wake >= 0;
}

void closings_deinit(struct closings *closings)
{
	for (struct closing *one; (one = closings_next(closings, true));)
		closing_destroy(one);
	if (closings->wake >= 0)
		close(closings->wake);
	closings->wake = -1;
}

bool closings_wants(const struct closings *closings, const struct tracked_process *process)
{
	return process->recorder->live.blocks >= BLOCKS_MIN && closings->count < THREADS_MAX;
}

static void *complete_recording(void *argument)
{
	struct closing *c = argument;
	int wake = c->all->wake;
	recorder_finish(c->recorder, &c->end, &c->totals);
	recorder_destroy(steal_ptr(c->recorder));
	__atomic_store_n(&c->done, 1, __ATOMIC_RELEASE);
	(void)!write(wake, &(uint64_t){1}, sizeof(uint64_t));
	return NULL;
}

bool closings_start(
	struct closings *closings, struct tracked_process *process, const struct recorder_end *end)
{
	struct closing *c = calloc(1, sizeof(*c));
	if (!c)
		return false;
	c->all = closings;
	c->recorder = process->recorder;
	c->end = *end;
	c->about = *process;
	recorder_write_alone(c->recorder);
	if (pthread_create(&c->thread, NULL, complete_recording, c)) {
		free(c);
		return false;
	}
	process->recorder = NULL;
	c->next = closings->first;
	closings->first = c;
	closings->count++;
	return true;
}

struct closing *closings_next(struct closings *closings, bool wait)
{
	uint64_t calls;
	(void)!read(closings->wake, &calls, sizeof(calls));
	for (struct closing **at = &closings->first; *at; at = &(*at)->next) {
		struct closing *c = *at;
		if (!wait && !__atomic_load_n(&c->done, __ATOMIC_ACQUIRE))
			continue;
		pthread_join(c->thread, NULL);
		*at = c->next;
		closings->count--;
		return c;
	}
	return NULL;
}

void closing_destroy(struct closing *closing)
{
	free(closing);
}
