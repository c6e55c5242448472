/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/window.h"

#include <stdlib.h>

struct error *window_open(const struct address_space *space, struct window *ret)
{
	*ret = (struct window){.space = space, .bytes = malloc(WINDOW_BYTES)};
	return ret->bytes ? NULL : error_no_memory();
}

void window_close(struct window *window)
{
	free(window->bytes);
	window->bytes = NULL;
}

const uint8_t *window_fill(struct window *window, uint64_t address, size_t bytes, uint64_t end)
{
	uint64_t wanted =
		end > address && end - address < WINDOW_PIECE ? end - address : WINDOW_PIECE;
	if (wanted < bytes || end <= address)
		wanted = bytes;
	window->start = address;
	window->end =
		address + address_space_read(window->space, address, window->bytes, (size_t)wanted);
	return address + bytes <= window->end ? window->bytes : NULL;
}
