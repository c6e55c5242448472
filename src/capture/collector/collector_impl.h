/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the collector's files share: collector.c (its loop), _asked, _hello, _ends, _leaks. */
#ifndef CAPTURE_COLLECTOR_IMPL_H
#define CAPTURE_COLLECTOR_IMPL_H

#include "capture/collector/caller_queue.h"
#include "capture/collector/closing.h"
#include "capture/collector/collector.h"
#include "capture/collector/lineage.h"
#include "capture/collector/session_summary.h"
#include "capture/collector/small.h"

struct collector {
	struct collector_start *start;
	int epoll;
	struct callers callers;
	struct caller_queue queue;
	struct tracked_process **processes;
	uint32_t process_count, process_max;
	uint64_t tsc_hz;
	uint64_t images; /* recorded so far */
	uint64_t serviced_ns, sleep_ns, listened_ns;
	uint32_t ends_put_off; /* times in a row */
	uint64_t root_gone_ns; /* when root was seen to have ended; 0: it lives */
	struct collector_ended ended;
	bool launcher_gone, launcher_stops, have_ended, has_reported, is_first_named;
	bool recorded; /* the file of root's first image is in use */
	struct session_summary summary;
	struct closings closings;
	struct write_queue *write_queue; /* NULL: this thread writes */
	struct lineage lineage;
	struct small_vec small; /* recordings that may become rows */
	/* Numbers of dumps whose names don't say of which process they are: no two are the same. */
	struct dump_files shared_dumps;
	uint64_t dumps_begun; /* with names by plans, of all processes */
	/* The program that was looked at last, and whether it has an allocator of its own: most
	 * processes are forks of one another. */
	struct {
		dev_t device;
		ino_t inode;
		bool own_malloc;
	} program;
};

/* Lets the loop wake with this tag when `fd` is readable. */
void collector_watch(struct collector *c, int fd, void *tag);
/*
 * Before it is closed: searches are made by copies of this process, in which the descriptor stays
 * open, and with it the kernel's watch on it (epoll(7), questions 6 and 9). Its tag would be
 * reported again, and belong to another one by then. -1: none.
 */
void collector_unwatch(struct collector *c, int fd);

/* Returns the tracked process; NULL if it is not known. */
struct tracked_process *collector_find(const struct collector *c, pid_t pid);
/* Begins to track a process. Returns NULL if there are too many or no memory, or it has ended. */
struct tracked_process *collector_add(struct collector *c, pid_t pid);
void collector_drop(struct collector *c, struct tracked_process *s);
/* Shows the launcher which recording of a process is under way, if that is the program that it
 * started (root). */
void collector_name_root(const struct collector *c, const struct tracked_process *s);
/* Returns how many processes are being recorded. */
uint32_t collector_living(const struct collector *c);

/* Returns whether a process is, or comes from, one of the session's: a struct session_gate's. */
bool collector_knows(void *collector, pid_t pid);
void collector_on_hello(struct collector *c, struct session_caller *caller);
void collector_on_notice(struct collector *c, const struct session_caller *caller);
/* Reports how the start of the first program went to the caller that waits for it; once. */
void collector_describe_first(struct collector *c);

/* Names the recording to who wants to know of errors, if it has new ones. */
void collector_announce_errors(const struct collector *c, const struct tracked_process *s);
/* Returns how an image, or what comes after a change of its mode, is recorded: as the user wants
 * it, with a seed of its own. */
struct mode collector_next_mode(struct collector *c, const struct changed_mode *changed);
/* Returns "exact", "aggregate" or "sample". */
const char *collector_mode_name(const struct mode *mode);
/* Changes the mode of a process for a command, and answers it. */
void collector_change_mode(
	struct collector *c, struct tracked_process *s, const struct session_caller *caller);
/* Completes the recording of a process whose mode is changed, while `next` goes on. */
void collector_finish_part(struct collector *c, struct tracked_process *s, struct recorder *next);

/* Looks at the rings of all processes but one, and hears those who call. To be called in the middle
 * of long work. */
void collector_go_on_meanwhile(struct collector *c, const struct tracked_process *but);

/* Completes the recording of the present image, if there is one; a large one in a thread. */
void collector_finish(
	struct collector *c, struct tracked_process *s, enum hpw_exit_kind kind, uint32_t value);
/*
 * Completes the recording of a process that waits for that and whose end will end the collector,
 * too. If it is the first of the PID namespace, the kernel kills the others as well.
 */
void collector_finish_exiting(
	struct collector *c, struct tracked_process *s, struct recorder_end end);
void collector_on_end(struct collector *c, struct tracked_process *s);
/* Completes a process that has ended and is not root, even if its exit status may be known later.
 */
void collector_end_now(struct collector *c, struct tracked_process *s);
/* Completes processes that have ended before, if their exit status is known by now. */
void collector_look_at_ended(struct collector *c);
/* Completes processes that have ended ahead of time, to make room for another one; if need be one
 * whose exit status is not known yet. Returns false if none has ended. */
bool collector_make_room(struct collector *c);
/* Hears those who call, without handling what they say, and sends them interim answers. To
 * be called in the middle of long work; does nothing if that was done only just now. */
void collector_listen_meanwhile(struct collector *c);
/* Answers callers, for some milliseconds at most. Returns false if there may be more of them. */
bool collector_answer_callers(struct collector *c);
/* Handles recordings that threads have completed. */
void collector_on_closed(struct collector *c);
/* Reports to the launcher: root has ended and its exit status is known, or never will be. */
void collector_root_finish(struct collector *c);
/* Returns whether there is anything left to record. */
bool collector_has_work(struct collector *c);

/* Handles a process that announces its end or requests a search: it is searched, or may go on, or
 * its end will end the collector. */
void collector_look_for_leaving(struct collector *c, struct tracked_process *s);
/* Handles the end of a search or a verdict. Returns whether the tag belonged to one. */
bool collector_on_searched(struct collector *c, const void *tag);
/* Removes the descriptors of a process's search and verdict from the loop. */
void collector_unwatch_jobs(struct collector *c, const struct tracked_process *s);
/* Begins to watch the process for a fatal signal, if the user wants that and it is not watched yet.
 */
void collector_watch_for_death(struct collector *c, struct tracked_process *s);
/* Handles a watched process that is dying or has ended. Returns whether the tag belonged to one. */
bool collector_on_dying(struct collector *c, const void *tag);
/* Searches a running process for a command, and answers it. */
void collector_search(
	struct collector *c, struct tracked_process *s, const struct session_caller *caller);
/* The present image of a process begins, with its parent's plan, if it was forked (else NULL), or
 * the session's. */
void collector_begin_dumps(
	const struct collector *c, struct tracked_process *s, const struct tracked_process *parent);
/* Changes when a process is dumped, as it asks, and answers it. */
void collector_configure(
	struct collector *c, struct tracked_process *s, const struct session_caller *caller);
/* Starts a dump of a process that was just drained, if one is due. `now_ns`: CLOCK_MONOTONIC. */
void collector_dump_if_due(struct collector *c, struct tracked_process *s, uint64_t now_ns);
/* Measures the distances of its dumps from now on: see dump_trigger_restart(). */
void collector_restart_distances(struct tracked_process *s);
/* Goes on with a recording whose figures begin with 0. */
void collector_renew_distances(struct tracked_process *s);
/* Drains a process, and starts a dump that is due: before its plan changes. */
void collector_dump_due(struct collector *c, struct tracked_process *s);
/* Starts a dump that a command or the program asks for, and answers it when that is written. */
void collector_dump_for(
	struct collector *c, struct tracked_process *s, const struct session_caller *caller);
/* Starts the dump of a process's end if it is wanted and was not begun yet. Returns whether it was
 * begun now. */
bool collector_dump_at_exit(
	struct collector *c, struct tracked_process *s, const struct recorder_end *end);
/* Returns whether a process that announced its end waits for dumps; ends those that take longer
 * than DUMP_WAIT_MS. */
bool collector_dump_delays_exit(struct collector *c, struct tracked_process *s);
/* Returns whether dumps of a process are being written. */
bool collector_dumps_run(const struct tracked_process *s);
/* Waits until all dumps of a process are written, that of an image before the present one, too. */
void collector_await_dumps(struct collector *c, struct tracked_process *s);
/* The present image ends: waits until all its dumps are written, that of its end among them, unless
 * another one follows. The rings of the other processes are drained meanwhile. */
void collector_end_dumps(
	struct collector *c, struct tracked_process *s, const struct recorder_end *end);
/* Handles a dump that was written. Returns whether the tag belonged to one. */
bool collector_on_dumped(struct collector *c, const void *tag);
/* Handles a request of a command about a running process. */
void collector_on_request(struct collector *c, const struct session_caller *caller);
/* Lets an attached process go and completes its recording. Answers `caller`; NULL: nobody waits. */
void collector_detach(struct collector *c, const struct session_caller *caller);

#endif
