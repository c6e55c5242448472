/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/window.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* So much may be kept of what is before a piece that was read ahead: a block that reaches into
 * it. */
#define ROOM_BYTES (64u << 10)

enum ahead_state {
	AHEAD_IDLE,
	AHEAD_WANTED, /* the thread reads, or is about to */
	AHEAD_READY,
	AHEAD_ENDS
};

/* A thread that reads the next piece. Buffers are of ROOM_BYTES, which stay free, and WINDOW_BYTES.
 */
struct window_ahead {
	pthread_t thread;
	pthread_mutex_t lock; /* of state; the rest is the thread's while that is AHEAD_WANTED */
	pthread_cond_t changed;
	enum ahead_state state;
	const struct address_space *space;
	uint8_t *buffer;
	uint64_t start;
	size_t wanted, got;
};

static void set_state(struct window_ahead *ahead, enum ahead_state state)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->state = state;
	pthread_cond_broadcast(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
}

/* Returns which other one it is in then. */
static enum ahead_state wait_while(
	struct window_ahead *ahead, enum ahead_state a, enum ahead_state b)
{
	pthread_mutex_lock(&ahead->lock);
	while (ahead->state == a || ahead->state == b)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	enum ahead_state state = ahead->state;
	pthread_mutex_unlock(&ahead->lock);
	return state;
}

static void *read_ahead(void *context)
{
	struct window_ahead *ahead = context;
	while (wait_while(ahead, AHEAD_IDLE, AHEAD_READY) == AHEAD_WANTED) {
		ahead->got = address_space_read(
			ahead->space, ahead->start, ahead->buffer + ROOM_BYTES, ahead->wanted);
		set_state(ahead, AHEAD_READY);
	}
	return NULL;
}

/* NULL: it goes without. */
static struct window_ahead *ahead_start(const struct address_space *space)
{
	struct window_ahead *ahead = calloc(1, sizeof(*ahead));
	uint8_t *buffer = malloc(ROOM_BYTES + WINDOW_BYTES);
	if (ahead && buffer) {
		ahead->space = space;
		ahead->buffer = buffer;
		pthread_mutex_init(&ahead->lock, NULL);
		pthread_cond_init(&ahead->changed, NULL);
		if (!pthread_create(&ahead->thread, NULL, read_ahead, ahead))
			return ahead;
		pthread_cond_destroy(&ahead->changed);
		pthread_mutex_destroy(&ahead->lock);
	}
	free(buffer);
	free(ahead);
	return NULL;
}

/* What is being read is finished first. */
static void ahead_end(struct window_ahead *ahead)
{
	wait_while(ahead, AHEAD_WANTED, AHEAD_WANTED);
	set_state(ahead, AHEAD_ENDS);
	pthread_join(ahead->thread, NULL);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead->buffer);
	free(ahead);
}

struct error *window_open(const struct address_space *space, struct window *ret)
{
	*ret = (struct window){.space = space, .buffer = malloc(ROOM_BYTES + WINDOW_BYTES)};
	return ret->buffer ? NULL : error_no_memory();
}

void window_close(struct window *window)
{
	if (window->ahead)
		ahead_end(window->ahead);
	free(window->buffer);
	window->ahead = NULL;
	window->buffer = NULL;
}

/* Whether the window can go on to `address` by what is, or may be, read ahead. */
static bool is_next(const struct window *window, uint64_t address)
{
	return address >= window->start && address + ROOM_BYTES >= window->end &&
	       address < window->end + WINDOW_BYTES;
}

/* Puts what was read ahead in the place of the window, after what is left of that. */
static bool take_ahead(struct window *window, uint64_t address, size_t bytes)
{
	struct window_ahead *ahead = window->ahead;
	wait_while(ahead, AHEAD_WANTED, AHEAD_WANTED);
	if (ahead->start != window->end || address + bytes > ahead->start + ahead->got)
		return false;
	size_t left = address < window->end ? (size_t)(window->end - address) : 0;
	uint8_t *buffer = window->buffer;
	if (left)
		memcpy(ahead->buffer + ROOM_BYTES - left, window->bytes + (address - window->start),
			left);
	window->buffer = ahead->buffer;
	ahead->buffer = buffer;
	window->bytes = window->buffer + ROOM_BYTES - left;
	window->start = ahead->start - left;
	window->end = ahead->start + ahead->got;
	return true;
}

static void window_want(struct window *window, uint64_t end)
{
	if (!window->ahead && !window->has_no_ahead)
		window->ahead = ahead_start(window->space);
	window->has_no_ahead = !window->ahead;
	if (!window->ahead)
		return;
	uint64_t left = end - window->end;
	window->ahead->start = window->end;
	window->ahead->wanted = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
	set_state(window->ahead, AHEAD_WANTED);
}

const uint8_t *window_fill(struct window *window, uint64_t address, size_t bytes, uint64_t end)
{
	bool in_order = is_next(window, address);
	uint64_t wanted = end > address ? end - address : bytes;
	if (wanted < bytes)
		wanted = bytes;
	if (wanted > WINDOW_BYTES)
		wanted = WINDOW_BYTES;
	if (!in_order || !window->ahead || !take_ahead(window, address, bytes)) {
		window->bytes = window->buffer + ROOM_BYTES;
		size_t got = address_space_read(window->space, address, window->bytes, wanted);
		window->start = address;
		window->end = address + got;
		in_order = in_order && got == WINDOW_BYTES;
	}
	/* Where one begins, others do as well: words of a window are aligned as they are there. */
	if (in_order && end > window->end && window->end % 16 == 0)
		window_want(window, end);
	return address + bytes <= window->end ? window->bytes + (address - window->start) : NULL;
}
