/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists the live blocks for a command while the recording goes on. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "capture/ask.h"
#include "capture/recorder/recorder_impl.h"

static bool write_rows(int fd, const struct live_entry *blocks, size_t count)
{
	_cleanup_free_ struct hw_live_block *rows = calloc(count, sizeof(*rows));
	if (!rows)
		return false;
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct hw_live_block){.address = blocks[i].address,
			.size = blocks[i].size,
			.number = blocks[i].number,
			.site = blocks[i].site,
			.thread = blocks[i].thread};
	struct error *error = write_all(fd, "a pipe", rows, count * sizeof(*rows));
	error_destroy(error);
	return !error;
}

/* Of the copy, which has the table as it was. Who reads sees the end where something fails. */
static void write_live(const struct live_table *live, int fd)
{
	struct live_walk walk;
	size_t room = (size_t)4 * LIVE_WALK_ROOM;
	_cleanup_free_ struct live_entry *blocks = calloc(room, sizeof(*blocks));
	if (!blocks || !live_table_walk_begin(live, &walk))
		return;
	signal(SIGPIPE, SIG_IGN);
	for (size_t n;
		(n = live_table_walk_next(&walk, blocks, room)) && write_rows(fd, blocks, n);)
		;
	live_table_walk_end(&walk);
}

/* A child of a child: the collector does not have to wait until all is read. */
static bool copy_writes(const struct live_table *live, const int ends[2])
{
	pid_t child = fork();
	if (!child) {
		pid_t copy = fork();
		if (!copy) {
			close(ends[0]); /* else it would wait for itself to read */
			write_live(live, ends[1]);
		}
		_exit(copy < 0);
	}
	int status = 1;
	return child > 0 && child_wait(child, &status, 0) == child && !status;
}

const char *recorder_send_blocks(struct recorder *recorder, int *ret_fd, uint64_t *ret_count)
{
	int ends[2];
	if (recorder_is_held(recorder)) /* the process stands still */
		return "it is still listing what had been allocated before it was attached";
	recorder_catch_up(recorder);
	recorder_write_new_threads(recorder);
	recorder_settle(recorder);
	if (recorder->blocks_dropped)
		return "it has run out of memory, and does not know all blocks";
	if (pipe2(ends, O_CLOEXEC))
		return "there are no more file descriptors";
	bool ok = copy_writes(&recorder->live, ends);
	close(ends[1]);
	*ret_count = recorder->live.blocks;
	*ret_fd = ok ? ends[0] : -1;
	if (!ok)
		close(ends[0]);
	return ok ? NULL : "it can't make a copy of itself";
}
