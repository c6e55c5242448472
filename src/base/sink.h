/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the bytes of an answer go. */
#ifndef BASE_SINK_H
#define BASE_SINK_H

#include <stdbool.h>
#include <stddef.h>

struct sink {
	/* Writes `len` bytes. Returns false to stop the output; the owner of ctx keeps the reason.
	 */
	bool (*write)(void *ctx, const char *data, size_t len);
	void *ctx;
};

#endif
