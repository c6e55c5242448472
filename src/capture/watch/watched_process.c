/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/watched_process.h"

#include <errno.h>
#include <signal.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "process/clock.h"
#include "process/proc_info.h"

/* Room for four times as many rows as there are at first, and at least this (16 MiB for both
 * tables). */
#define ROWS_LEAST (1u << 19)
#define ROWS_MOST (1u << WATCH_SEARCH_STEPS)

/* Between looks at the mappings, unless an event says that they changed; and at the process. */
#define REFRESH_NS 300000000ull
#define ALIVE_NS 50000000ull

void watched_process_init(struct watched_process *process, pid_t pid)
{
	*process = (struct watched_process){.pid = pid};
	module_table_init(&process->modules, pid);
}

void watched_process_deinit(struct watched_process *process)
{
	watch_kernel_close(&process->kernel);
	module_table_deinit(&process->modules);
}

struct error *watched_process_read(struct watched_process *process)
{
	bool changed, other;
	int pid = (int)process->pid;
	if (kill(pid, 0) && errno == ESRCH)
		return error_create(ERROR_INPUT, "no such process: %d", pid);
	process->start_ticks = process_start_ticks(pid);
	struct error *error = module_table_refresh(&process->modules, &changed, &other);
	return error ? error_prefix(error,
			       "process %d can't be watched (run heapwise as root, or as its user)",
			       pid)
		     : NULL;
}

struct error *watched_process_rows(
	const struct watched_process *process, struct watch_row_vec *rows, uint32_t *ret_room)
{
	struct error *error = module_table_rows(&process->modules, rows);
	uint64_t room = max((uint64_t)ROWS_LEAST, 4 * (uint64_t)rows->len);
	*ret_room = (uint32_t)min(room, (uint64_t)ROWS_MOST);
	return error;
}

struct error *watched_process_put(struct watched_process *process, const struct watch_row_vec *rows)
{
	size_t count = min(rows->len, (size_t)process->kernel.sizes.rows);
	process->rows_missing = rows->len - count;
	return watch_kernel_rows(&process->kernel, rows->data, (uint32_t)count);
}

struct error *watched_process_renew(struct watched_process *process)
{
	_cleanup_(watch_row_vec_deinit) struct watch_row_vec rows = {0};
	struct error *error = module_table_rows(&process->modules, &rows);
	return error ? error : watched_process_put(process, &rows);
}

bool watched_process_is_due(struct watched_process *process)
{
	return clock_is_due(&process->refreshed_ns, REFRESH_NS) || process->modules_changed;
}

bool watched_process_has_ended(const struct watched_process *process)
{
	return process_start_ticks(process->pid) != process->start_ticks;
}

bool watched_process_poll_end(struct watched_process *process)
{
	return clock_is_due(&process->alive_ns, ALIVE_NS) && watched_process_has_ended(process);
}
