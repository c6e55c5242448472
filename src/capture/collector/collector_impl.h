/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the collector's files share: collector.c (its loop), _asked, _hello, _ends, _leaks. */
#ifndef CAPTURE_COLLECTOR_IMPL_H
#define CAPTURE_COLLECTOR_IMPL_H

#include "capture/collector/closing.h"
#include "capture/collector/collector.h"
#include "capture/collector/lineage.h"
#include "capture/collector/roll.h"
#include "capture/collector/small.h"

struct collector {
	struct collector_start *start;
	int epoll;
	struct callers callers;
	struct subject **subjects;
	uint32_t subject_count, subject_max;
	uint64_t tsc_hz;
	uint64_t images; /* recorded so far */
	uint64_t tended_ns, sleep_ns;
	uint32_t ends_put_off; /* times in a row */
	uint64_t root_gone_ns; /* when root was seen to have ended; 0: it lives */
	struct collector_ended ended;
	bool launcher_gone, launcher_stops, have_ended, told, first_said;
	bool recorded; /* the file of root's first image is in use */
	struct roll roll;
	struct closings closings;
	struct lineage lineage;
	struct small_vec small; /* recordings that may become rows */
	/* The program that was looked at last, and whether it has an allocator of its own: most
	 * processes are forks of one another. */
	struct {
		dev_t device;
		ino_t inode;
		bool own_malloc;
	} program;
};

/* Has the loop wake when fd is readable, with this tag. */
void collector_watch(struct collector *c, int fd, void *tag);
/*
 * Before it is closed: searches are made by copies of this process, in which the descriptor stays
 * open, and with it the kernel's watch on it (epoll(7), questions 6 and 9). Its tag would be told
 * again, and be another's by then. -1: none.
 */
void collector_unwatch(struct collector *c, int fd);

/* NULL: that process is not known. */
struct subject *collector_find(const struct collector *c, pid_t pid);
/* NULL: too many, no memory, or it has gone. */
struct subject *collector_add(struct collector *c, pid_t pid);
void collector_drop(struct collector *c, struct subject *s);
/* How many are being recorded. */
uint32_t collector_living(const struct collector *c);

/* Whether a process is, or comes from, one of the session's: a struct session_gate's. */
bool collector_knows(void *collector, pid_t pid);
void collector_on_hello(struct collector *c, struct session_caller *caller);
void collector_on_notice(struct collector *c, const struct session_caller *caller);
/* Tells who waits for it how the first program's start went; once. */
void collector_say_first(struct collector *c);

/* Completes the recording of the present image, if there is one; a large one meanwhile. */
void collector_finish(
	struct collector *c, struct subject *s, enum hpw_exit_kind kind, uint32_t value);
/*
 * A process is about to take the collector along, and waits until its recording is complete. If it
 * is the first of the namespace, the kernel kills the others too.
 */
void collector_take_leave(struct collector *c, struct subject *s, struct recorder_end end);
void collector_on_end(struct collector *c, struct subject *s);
/* Completes a process that has ended and is not root, even if how may be known later. */
void collector_end_now(struct collector *c, struct subject *s);
/* Completes what has ended before, if by now it is known how. */
void collector_look_at_ended(struct collector *c);
/* Completes processes that have ended, though it is not their turn yet, so that there is room for
 * another one; if need be one of which it is not known how it ended. False: none has. */
bool collector_make_room(struct collector *c);
/* Hears those who call, for some milliseconds at most. False: there may be more of them. */
bool collector_answer_callers(struct collector *c);
/* Recordings have been completed meanwhile. */
void collector_on_closed(struct collector *c);
/* Root has ended and somebody has said how, or nobody will: the launcher's part is over. */
void collector_root_finish(struct collector *c);
/* False: nothing is left to be recorded. */
bool collector_has_work(struct collector *c);

/* A process says that it ends, or asks for a search: it is searched, or may go, or takes us along.
 */
void collector_look_for_leaving(struct collector *c, struct subject *s);
/* A search, or what became of one, is over. Whether the tag was of one. */
bool collector_on_searched(struct collector *c, const void *tag);
/* What a subject's search or judge is watched by is so no longer. */
void collector_unwatch_jobs(struct collector *c, const struct subject *s);
/* Has the process watched for a fatal signal, if the user wants that and it is not yet. */
void collector_watch_for_death(struct collector *c, struct subject *s);
/* A watched process is dying, or has ended. Whether the tag was of one. */
bool collector_on_dying(struct collector *c, const void *tag);
/* A command wants a running process searched; it is answered. */
void collector_search(struct collector *c, struct subject *s, const struct session_caller *caller);
/* A command wants something of a running process. */
void collector_on_request(struct collector *c, const struct session_caller *caller);

#endif
