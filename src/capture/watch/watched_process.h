/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that is watched, whatever for: the files it has mapped, and the kernel's programs
 * with the unwind rows of these. `watch` and `growth` begin with this, and keep it up to date.
 */
#ifndef CAPTURE_WATCHED_PROCESS_H
#define CAPTURE_WATCHED_PROCESS_H

#include "capture/watch/watch_kernel.h"
#include "capture/watch/watch_modules.h"

/* Sizes of the kernel's tables that all kinds of watching have. The entries take memory when they
 * are used. */
#define WATCHED_SITES_MOST (1u << 16)
#define WATCHED_THREADS_MOST (1u << 15)

struct watched_process {
	pid_t pid;
	uint64_t start_ticks; /* another process may get its number */
	struct module_table modules;
	struct watch_kernel kernel; /* opened by the owner */
	uint64_t rows_missing;      /* unwind rows that found no room */
	bool modules_changed;       /* an event said so: the next refresh is due at once */
	uint64_t refreshed_ns, alive_ns;
};

void watched_process_init(struct watched_process *process, pid_t pid);
/* Closes the kernel's side, too. */
void watched_process_deinit(struct watched_process *process);

/* Reads what the process has mapped for the first time. ERROR_INPUT: there is no such process, or
 * it may not be watched. */
struct error *watched_process_read(struct watched_process *process) must_check_;

/* Reads the unwind rows of all modules. *ret_room: how many rows to give the kernel's table room
 * for, so that libraries may be loaded and other programs executed later. */
struct error *watched_process_rows(const struct watched_process *process,
	struct watch_row_vec *rows, uint32_t *ret_room) must_check_;

/* Puts rows in force; notes in rows_missing how many did not fit. */
struct error *watched_process_put(
	struct watched_process *process, const struct watch_row_vec *rows) must_check_;

/* Returns whether the mappings are to be read again: some time has passed, or they changed. */
bool watched_process_is_due(struct watched_process *process);

/* Puts the rows of the modules that are mapped now in force. */
struct error *watched_process_renew(struct watched_process *process) must_check_;

/* Returns whether the process has ended. The second looks only now and then: else false. */
bool watched_process_has_ended(const struct watched_process *process);
bool watched_process_poll_end(struct watched_process *process);

#endif
