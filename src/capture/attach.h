/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records a process that runs already, until it ends or is let go: see attach/inject.h for what is
 * done to it. Its recording is as that of a process that `run` has started, but for what it had
 * allocated before.
 */
#ifndef CAPTURE_ATTACH_H
#define CAPTURE_ATTACH_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "capture/launch.h"
#include "capture/older.h"
#include "process/stop.h"

/* Words that hold addresses of the allocator's functions: calls through them are not recorded. */
struct attach_kept {
	size_t words;
	bool partial; /* there may be more: not all data was looked at */
	char *where;  /* which objects have them, for people; NULL: none; owned */
};

/* What attaching to a process means, found without changing it. */
struct attach_outlook {
	char *allocator; /* path of the object that defines malloc; owned */
	size_t slots, objects;
	size_t other;    /* references that lead elsewhere, and stay */
	size_t apart;    /* objects in namespaces of their own, which stay */
	size_t pointers; /* words among the `slots` that are no references (patch_pointers) */
	/* Of the program itself, that are changed as no reference leads to them, and their names,
	 * for people; why there are not more of them. NULL: none, nothing to say; owned. */
	size_t functions;
	char *function_names, *functions_refused;
	unsigned threads;
	bool own_operators; /* operators new and delete are the allocator's */
	bool is_filtered; /* it is under seccomp filters: they are looked at when it is attached */
	bool is_recorded; /* it is refused since it is recorded or attached already */
	struct attach_kept kept;
	enum hpw_older older; /* why what is there now would not be listed; UNKNOWN: it would be */
	uint64_t copy_ns; /* about how long the process would stand still for that; 0: not known */
};

/* Whether what was allocated before is listed. */
enum attach_before {
	ATTACH_BEFORE_AUTO,     /* if it would not stand still for longer than budget_ns */
	ATTACH_BEFORE_SNAPSHOT, /* however long it stands still */
	ATTACH_BEFORE_NONE,
};

/* A copy of the process as it was when it was attached. */
struct attach_copy {
	const struct stopped *stopped;     /* its threads, which go on */
	pid_t pid;                         /* whose memory is to be read */
	const char *allocator;             /* path of the object that defines malloc */
	const volatile sig_atomic_t *stop; /* not 0: nobody wants it any more */
};

/* What has been done. */
struct attach_start {
	const char *file; /* of the recording; absolute */
	size_t slots, objects, functions;
	const char *functions_refused; /* NULL: nothing to say */
	uint64_t stop_ns, pause_ns;    /* to stop all threads; that they stood still */
	size_t late_threads;           /* that have not stopped: they are in the kernel */
	pid_t late_tid;                /* the first of them */
	enum hpw_older older; /* why what was there before is not listed; UNKNOWN: it is being */
	const struct attach_kept *kept;
	size_t other, apart, pointers; /* as in struct attach_outlook */
};

struct attach_options {
	pid_t pid;
	const struct launch_options
		*launch;    /* file, overwrite, mode, dumps, errors, lifeline count */
	uint64_t for_ns;    /* then it is let go; 0: when a signal asks for it */
	uint64_t budget_ns; /* to stop all threads, at most; 0: any time */
	enum attach_before before;
	/* Words of writable data that hold addresses of the allocator's functions are changed, too.
	 * One that holds such a number for another purpose is changed likewise. */
	bool patch_pointers;
	/* Fills a list of the blocks of a copy; called in a thread of its own. NULL: there is none.
	 */
	struct error *(*list_blocks)(
		void *context, const struct attach_copy *copy, struct older_list *list);
	void *list_blocks_context;
	/* Set at the end: how many libraries were loaded meanwhile, whose calls before that was
	 * noticed are not recorded. NULL: nobody asks. */
	size_t *ret_later;
	void (*on_start)(void *context, const struct attach_start *start);
	void *on_start_context;
};

/* Puts back what a child has that an attached process forked: the hooks of its parent. Nothing is
 * done to others, attached ones included. */
void attach_put_back_copy(pid_t pid);

/* Says what attaching to a process would mean. Errors are the reasons against it. Call
 * attach_outlook_deinit() in any case. */
struct error *attach_examine(
	const struct attach_options *options, struct attach_outlook *ret) must_check_;
void attach_outlook_deinit(struct attach_outlook *outlook);

/*
 * Attaches to a process, and waits until it has ended, is let go by attach_let_go() in another
 * process, options->for_ns is over, or SIGINT, SIGTERM or SIGHUP comes. The calling process must
 * have no other threads. ret->status means nothing. Errors come before the process was changed.
 */
struct error *attach_and_wait(
	const struct attach_options *options, struct launch_result *ret) must_check_;

struct attach_end {
	char *file;          /* of the recording; NULL: its collector has not done it; owned */
	pid_t collector;     /* that is stopped, and completes the recording later; 0: it is gone */
	size_t slots;        /* put back, functions too; unknown if there is a file: 0 */
	uint64_t left_bytes; /* still mapped in the process; likewise */
	pid_t late_tid;      /* a thread that does not return from the kernel; 0: none; likewise */
};

/*
 * Lets a process go that was attached, by any process. ERROR_INPUT: it is not attached. on_wait is
 * called once if its collector does not answer at once; one that is stopped (SIGSTOP) is not waited
 * for longer than a second. NULL: nobody is told.
 */
struct error *attach_let_go(pid_t pid,
	void (*on_wait)(void *context, pid_t collector, bool is_stopped), void *context,
	struct attach_end *ret) must_check_;

#endif
