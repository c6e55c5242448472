/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an address space, for those who go through it in order: read piece by piece. */
#ifndef HEAP_WINDOW_H
#define HEAP_WINDOW_H

#include "base/error.h"
#include "process/address_space.h"

/* The most that can be asked for at once. */
#define WINDOW_BYTES (1u << 20)
/* So much is read at a time: it stays in a processor's second-level cache until it was used. */
#define WINDOW_PIECE (256u << 10)

struct window {
	const struct address_space *space;
	uint8_t *bytes;
	uint64_t start, end; /* what is in it */
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
