/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_collector.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/ask.h"
#include "model/model.h"

/* Rows come one after the other; who says nothing for so long says nothing more. */
#define SILENCE_MS 10000
#define ROWS_AT_ONCE 1024

static struct error *heap_collector_ask(pid_t pid, bool anyhow, struct query_live_blocks *ret)
{
	struct hw_reply reply;
	int pipe;
	struct error *error = ask_for_blocks(pid, anyhow, &reply, &pipe);
	if (error)
		return error;
	*ret = (struct query_live_blocks){.pipe = pipe, .blocks = reply.blocks};
	if (pipe < 0)
		return NULL;
	ret->path = strdup(reply.file);
	if (ret->path)
		return NULL;
	close(pipe);
	return error_no_memory();
}

/* Some of what comes through the pipe, in bytes; 0: it has ended, or nothing has come for long. */
static size_t read_some(int pipe, void *ret, size_t room)
{
	struct pollfd more = {.fd = pipe, .events = POLLIN};
	ssize_t n;
	do
		n = poll(&more, 1, SILENCE_MS) == 1 ? read(pipe, ret, room) : 0;
	while (n < 0 && errno == EINTR);
	return n > 0 ? (size_t)n : 0;
}

struct live_block_buffer {
	struct live_block *data;
	size_t len, cap;
};

/* Adds one: as many as were announced may never come. */
static bool add_block(struct live_block_buffer *blocks, const struct hw_live_block *row)
{
	if (blocks->len == blocks->cap) {
		size_t cap = blocks->cap ? blocks->cap * 2 : 4096;
		void *moved = realloc(blocks->data, cap * sizeof(*blocks->data));
		if (!moved)
			return false;
		blocks->data = moved;
		blocks->cap = cap;
	}
	blocks->data[blocks->len++] = (struct live_block){.address = row->address,
		.size = row->size,
		.site = {row->site},
		.thread = {row->thread},
		.number = row->number};
	return true;
}

/* False: no memory. */
static bool read_all(const struct query_live_blocks *live_blocks, struct live_block_buffer *blocks)
{
	struct hw_live_block rows[ROWS_AT_ONCE];
	size_t held = 0, taken;
	while (blocks->len < live_blocks->blocks &&
		(taken = read_some(live_blocks->pipe, (char *)rows + held, sizeof(rows) - held))) {
		held += taken;
		size_t whole = held / sizeof(*rows);
		for (size_t i = 0; i < whole && blocks->len < live_blocks->blocks; i++)
			if (!add_block(blocks, &rows[i]))
				return false;
		held -= whole * sizeof(*rows);
		memmove(rows, rows + whole, held);
	}
	return true;
}

static struct error *read_stats(
	struct query_live_blocks *live_blocks, struct live_block **ret, size_t *ret_count)
{
	/* Not NULL: that would say that nothing was told. */
	struct live_block_buffer blocks = {.data = malloc(sizeof(*blocks.data)), .cap = 1};
	bool ok = blocks.data && read_all(live_blocks, &blocks);
	close(live_blocks->pipe);
	live_blocks->pipe = -1;
	if (!ok) {
		free(blocks.data);
		return error_no_memory();
	}
	*ret = blocks.data;
	*ret_count = blocks.len;
	return NULL;
}

const struct query_collector heap_collector = {.ask = heap_collector_ask, .read = read_stats};
