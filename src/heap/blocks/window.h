/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an address space, for callers that go through it in order: read by large pieces, by
 * a thread of its own while the one before is walked. */
#ifndef HEAP_WINDOW_H
#define HEAP_WINDOW_H

#include "base/error.h"
#include "process/address_space.h"

#define WINDOW_BYTES (1u << 20)

struct window {
	const struct address_space *space;
	uint8_t *bytes;
	uint64_t start, end;        /* what is in it */
	uint8_t *buffer;            /* in which `bytes` are */
	struct window_ahead *ahead; /* NULL: none so far, or `has_no_ahead` */
	bool has_no_ahead;
};

struct error *window_open(const struct address_space *space, struct window *ret) must_check_;
void window_close(struct window *window);

/*
 * `bytes` (at most WINDOW_BYTES) from address on; NULL: not all of them can be read. `end`: bytes
 * after it will not be asked for. They stay until the next call.
 */
const uint8_t *window_fill(struct window *window, uint64_t address, size_t bytes, uint64_t end);

static inline const uint8_t *window_at(
	struct window *window, uint64_t address, size_t bytes, uint64_t end)
{
	if (__builtin_expect(address >= window->start && address + bytes <= window->end, 1))
		return window->bytes + (address - window->start);
	return window_fill(window, address, bytes, end);
}

/* Returns what of it can be had from address on without reading: at most `bytes`. */
static inline const uint8_t *window_peek(
	const struct window *window, uint64_t address, size_t bytes, size_t *ret_len)
{
	uint64_t here = window->end - address;
	*ret_len = here < bytes ? (size_t)here : bytes;
	return window->bytes + (address - window->start);
}

static inline void window_cleanup(struct window *window)
{
	window_close(window);
}

#endif
