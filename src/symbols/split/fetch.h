/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files from the servers of DEBUGINFOD_URLS, for users who allow it. The library for that
 * (libdebuginfod) is loaded when the first file is asked for: it brings an HTTP client that nothing
 * else needs. It keeps what it got in a folder of its own.
 */
#ifndef SYMBOLS_FETCH_H
#define SYMBOLS_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Who hears of it; both may be called whenever an address is looked up. Either may be NULL. */
struct fetch_listener {
	/* What is fetched now, "libc.so.6"; NULL: it has ended. */
	void (*progress)(void *ctx, const char *name);
	/* Why no more files are asked for; once. */
	void (*problem)(void *ctx, const char *sentence);
	void *ctx;
};

struct fetch;

/* `seconds`: how long to wait for servers in all. */
struct error *fetch_create(
	unsigned seconds, const struct fetch_listener *listener, struct fetch **ret) must_check_;
void fetch_destroy(struct fetch *fetch);

/*
 * Returns the path of the debug file with that build-id, which the caller frees; NULL: no server
 * has it, or no server is asked any more. `name` is shown as progress.
 */
char *fetch_debug_file(
	struct fetch *fetch, const uint8_t *build_id, size_t build_id_len, const char *name);

#endif
