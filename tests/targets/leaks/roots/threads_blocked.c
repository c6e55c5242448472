/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that wait in read, nanosleep, poll and for a lock at the end: what their frames and the
 * buffers that they gave to the kernel hold is reachable. */
#include "parked.h"
#include <poll.h>
#include <time.h>

LEAK_ROLE(held_in_read)
LEAK_ROLE(read_buffer)
LEAK_ROLE(held_in_sleep)
LEAK_ROLE(held_in_poll)
LEAK_ROLE(held_at_lock)
LEAK_ROLE(lost)

static int pipe_ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

TRUTH_FRAME static void lose(void)
{
	leak_opaque(lost(104));
}

static void *in_read(void *unused)
{
	void *volatile mine = held_in_read(216);
	char *buffer = (char *)read_buffer(4096);
	lose();
	leak_scrub();
	parked_say();
	while (read(pipe_ends[0], buffer, 4096) < 0)
		continue;
	(void)mine;
	return unused;
}

static void *in_sleep(void *unused)
{
	void *volatile mine = held_in_sleep(232);
	struct timespec long_time = {1 << 20, 0};
	lose();
	leak_scrub();
	parked_say();
	while (nanosleep(&long_time, NULL))
		continue;
	(void)mine;
	return unused;
}

static void *in_poll(void *unused)
{
	void *volatile mine = held_in_poll(248);
	struct pollfd one = {.fd = pipe_ends[0], .events = POLLIN};
	lose();
	leak_scrub();
	parked_say();
	while (poll(&one, 1, -1) <= 0)
		continue;
	(void)mine;
	return unused;
}

static void *at_lock(void *unused)
{
	void *volatile mine = held_at_lock(264);
	lose();
	leak_scrub();
	parked_say();
	pthread_mutex_lock(&lock);
	(void)mine;
	return unused;
}

int main(void)
{
	truth_need(!pipe(pipe_ends), "pipe");
	pthread_mutex_lock(&lock);
	parked_start(in_read, NULL);
	parked_start(in_sleep, NULL);
	parked_start(in_poll, NULL);
	parked_start(at_lock, NULL);
	parked_wait(4);
	LEAKS_ARE(LEAK_REACHABLE, held_in_read);
	LEAKS_ARE(LEAK_REACHABLE, read_buffer);
	LEAKS_ARE(LEAK_REACHABLE, held_in_sleep);
	LEAKS_ARE(LEAK_REACHABLE, held_in_poll);
	LEAKS_ARE(LEAK_REACHABLE, held_at_lock);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	leaks_end();
	return 0;
}
