/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder of one process image: merges its rings, keeps its counters, writes its file.
 */
#ifndef CAPTURE_RECORDER_H
#define CAPTURE_RECORDER_H

#include "base/error.h"
#include "capture/attach/held_source.h"
#include "capture/collector/clock_pair.h"
#include "capture/dumps/dump_trigger.h"
#include "capture/dumps/heap_pages.h"
#include "capture/errors/program_errors.h"
#include "capture/keep.h"
#include "capture/leak_verdict.h"
#include "capture/leaks/check_starts.h"
#include "capture/leaks/leak_check.h"
#include "capture/leaks/lsan_annotations.h"
#include "capture/older.h"
#include "capture/pools/own_pools.h"
#include "capture/python/traced_lines.h"
#include "capture/recorder/bad_frees.h"
#include "capture/recorder/code_names.h"
#include "capture/recorder/live_table.h"
#include "capture/recorder/mappings.h"
#include "capture/recorder/merge.h"
#include "capture/recorder/mode.h"
#include "capture/recorder/moving.h"
#include "capture/recorder/resident.h"
#include "capture/recorder/ring_source.h"
#include "capture/recorder/tally.h"
#include "capture/recorder/unrecorded.h"
#include "capture/writer.h"
#include "capture/writer/checkpoint.h"
#include "capture/writer/encode.h"
#include "capture/writer/samples.h"
#include "capture/writer/sums.h"
#include "format/shm.h"

#include <stdint.h>
#include <sys/types.h>

struct recorder_start {
	pid_t pid, outer_ppid;   /* it and its parent, in the collector's PID namespace */
	pid_t target_pid, ppid;  /* the same two, in the target's PID namespace */
	const char *memory_name; /* as it is shown in the target's memory map; NULL: any */
	bool forked;             /* it began as a copy of its parent, with the parent's blocks */
	uint64_t forked_at;      /* number of the parent's fork; 0: not known */
	const char *parent_file; /* base name of the parent's recording; NULL: not known */
	/* Where its events come from, borrowed for as long as the recorder lives; NULL: from the
	 * runtime in that process, over rings that are made for it. */
	struct event_source *source;
	/* Or the recording of the process so far, whose rings it goes on over, and the base name of
	 * its file, borrowed during the call: see recorder_hand_over(). */
	const struct recorder *before;
	const char *before_file;
	/* It was attached when it had run for so many ns; 0: it was recorded from its start. */
	uint64_t attached_ns;
	bool watched; /* its calls are seen by probes in the kernel: HPW_TARGET_WATCHED */
	/* Then: what it had allocated before, borrowed for as long as the recorder lives; NULL:
	 * there was no memory for a list. */
	const struct older_list *older;
	uint64_t tsc_hz; /* of stamps, the source's too */
	struct mode mode;
	struct clock_pair began;
	bool awaited;             /* it announces its end and waits for the answer */
	bool awaited_at_main_end; /* it announces the end of main, too */
	bool as_lsan;             /* see struct leak_check */
	enum hw_heap_check heap_check;
	int dump_signal; /* see recorder_want_signal() */
	bool clears;     /* it clears memory as it gives it out */
	/* Of the executable, HW_LSAN_FUNCTIONS of them; NULL: not known. */
	const uint64_t *lsan_functions;
	struct write_queue *write_queue; /* borrowed; NULL: the caller's thread writes */
	int file;                        /* taken over */
	const char *file_name;           /* borrowed during the call */
};

struct recorder {
	pid_t pid, target_pid, ppid, outer_ppid; /* as in recorder_start */
	bool forked;
	bool goes_on;    /* it goes on after another recording: blocks of before are unknown */
	bool own_malloc; /* as program_has_own_malloc() says; set by the caller */
	struct mode mode;
	bool folds; /* events only go into the sums */
	struct event_source *source;
	/* If the process has the runtime in it. What it says at its end and searches for leaks go
	 * by this memory alone, not by the source; NULL: there are none. */
	struct hw_shm *shm;
	struct ring_source rings;
	struct held_source *held; /* is the source, while it is not NULL */
	/* Of an attached process: what it had allocated before. */
	struct {
		const struct older_list *list;
		bool is_urgent;         /* what there is of the list has to do */
		uint32_t why;           /* enum hpw_older */
		uint32_t threads;       /* that may have been inside the allocator */
		uint64_t blocks, bytes; /* in the recording */
		uint64_t mistaken;      /* of them, found out so far */
		uint32_t thread;        /* whose they are; if there are any */
		uint64_t damaged;       /* bytes in which none were made out */
		struct ring_code code;  /* their frames; the names are owned */
	} older;
	int memory; /* the memfd, for the target; -1 once it was sent */
	struct merge merge;
	struct live_table live;
	struct moving moving;
	struct own_pools pools;
	struct lsan_annotations annotations;
	struct check_starts checks;
	struct tally tally;
	struct encoder encoder;
	struct writer writer;
	struct keep keep;
	struct checkpoints checkpoints;
	struct sums sums;
	struct buf *aside;    /* where chunks go instead of the file; NULL: into the file */
	uint64_t chunk_steps; /* steps after which a chunk of events is closed */
	struct buf payload;   /* reused for each chunk */
	struct buf target;    /* the payload of the chunk TARGET, for dumps */
	uint32_t features;    /* enum hpw_feature of the file */
	struct clock_pair began;
	uint64_t there_ns; /* since 1970, when the process was there already */
	/* It was handed over: when, and what there was to say of it then. What came later is not
	 * its own. */
	struct {
		bool done;
		struct clock_pair at;
		struct event_report report;
		uint64_t instructions;
	} cut;
	/* The mode has been changed, and threads' last events are coming. A block may be given out
	 * again by one that was resizing a block meanwhile, and its free be of the next recording.
	 */
	bool is_over;
	struct event_report earlier; /* what is not its own, but of a recording before */
	uint64_t flushed_ns, flush_pause_ns;
	uint64_t resident_bytes; /* of the process, as hw_status_resident(), about a second ago */
	uint32_t modules_written, code_written, sites_written;
	uint64_t threads_written; /* as many as there were then */
	uint8_t *stacks_known;    /* bit set of the nodes that are in the file or in `stacks` */
	uint32_t *stacks;         /* numbers of nodes to write next */
	size_t stacks_count, stacks_capacity;
	struct code_names code_names;
	struct unrecorded_list unrecorded; /* filled by the collector */
	struct bad_frees bad_frees;
	struct traced_lines traced_lines;
	struct program_errors errors;
	bool errors_came;                   /* see recorder_take_errors() */
	struct hw_check_sums check_written; /* as the last chunk CHECK has them */
	uint64_t left_out_written;          /* likewise */
	struct mappings mappings;           /* empty unless they are recorded */
	struct resident resident;           /* likewise */
	uint32_t stacks_end;                /* one more than the largest number in the file */
	uint64_t stacks_bad;                /* invalid numbers of stacks */
	uint64_t blocks_dropped; /* for lack of memory: the counters are not exact any more */
	uint32_t in_flight;      /* at the end: events that were begun and never completed */
	int instructions;        /* see instructions.h; -1: not counted */
	bool stopped;            /* allocations are not recorded now */
	uint64_t stop_count;     /* how often they were not */
	uint64_t stop_began_ns, stopped_ns; /* the last time; all earlier ones together */
	uint64_t resumed_ns;                /* when the last one ended; 0: none has */
	uint64_t resets;                    /* how often the sums of dumps began anew */
	struct sums_before *before;         /* what they were then; NULL: they never did */
	/* Of a sample: what blocks stand for, in bytes. */
	struct {
		double allocated, live, peak;
	} estimate;
	struct samples samples; /* likewise, by site and thread */
	struct heap_pages heap_pages;
	uint64_t stopped_frees; /* of blocks of such times, or of what is no block */
	uint64_t marks; /* set by the program or from outside, among the steps that are kept */
	uint64_t forks; /* that the process reported */
	/* Of blocks whose address was allocated again, and with pools; less the records that say
	 * the latter. */
	uint64_t frees_added;
	struct error *error;     /* the first that happened; recording goes on without the file */
	bool has_search;         /* the result of a search for leaks is in the file */
	struct leak_found found; /* by the last search */
	bool outlived;           /* the process may go on for a moment after the end */
	bool tids_differ; /* the target is in another PID namespace: thread ids say nothing here */
};

/* How a process ended, as the launcher knows it. */
struct recorder_end {
	enum hpw_exit_kind kind;
	uint32_t value;
};

/* What is worth saying at the end. */
struct recorder_totals {
	uint64_t events, lost, repairs, allocations, allocated_bytes, frees, failed, live_blocks,
		live_bytes, temporary, peak_bytes, peak_ns, duration_ns, file_bytes, threads;
	uint64_t wrong_frees; /* where blocks were freed twice, or wrongly; or how many, if that is
				 more */
	uint64_t program_errors; /* reports of errors, equal ones too */
	uint64_t stopped_ns;     /* that allocations were not recorded */
	uint64_t lost_notices;   /* programs that it started, or that went on as it, unrecorded, of
			       which only the number is known */
	uint64_t memory_bytes;   /* the collector's largest resident size */
	uint64_t mapped_bytes, mapped_peak_bytes; /* by the program, now and at most */
	uint64_t mappings;                        /* changes of these */
	uint32_t connected;   /* 1: the program loaded the runtime and answered */
	uint32_t notes;       /* enum hpw_note */
	uint32_t write_error; /* 1: the file is incomplete; the message says why */
	uint32_t file_gone;   /* 1: that is because it was removed or replaced */
	uint32_t went_on;     /* 1: the process became another program (exec), or went on in another
			       * recording, since its mode was changed */
	uint32_t is_sampled;  /* 1: the figures are of samples */
	uint32_t is_changed;  /* 1: it ended with a change of its mode */
	uint32_t is_detached; /* 1: the process goes on, and was let go */
	uint32_t older; /* enum hpw_older: what came of these, which are in no call's figures */
	uint64_t older_blocks, older_bytes;
	char traced[64];     /* as in struct mode, or its beginning */
	uint32_t has_traced; /* 1: lines of these functions ran */
	uint32_t unguarded;  /* 1: errors were to be looked for, but the library was not there */
	struct leak_found found;
	char message[256];
};

/* Creates a recorder. On failure nothing remains but the file's content so far. */
struct error *recorder_create(const struct recorder_start *start, struct recorder **ret);
void recorder_destroy(struct recorder *recorder);

/* What a recorder calls again and again during work that may take seconds: the rings of other
 * processes fill meanwhile. */
struct recorder_meanwhile {
	void (*go_on)(void *context);
	void *context;
};

/*
 * Changes the mode of the process: `next`, which was created with `recorder` as `before`, is of
 * what the process's threads decide once they have seen that; `recorder` takes what they did
 * before, and is ready to be finished, with HPW_EXIT_MODE. Both are the caller's; the process is
 * not stopped. Events of threads that have decided, but not begun, when `recorder` has taken all
 * are in neither, and counted in `next`. Takes seconds at most. `meanwhile`: NULL: nothing.
 */
void recorder_hand_over(struct recorder *recorder, struct recorder *next,
	const struct recorder_meanwhile *meanwhile);

/* Takes all that has happened so far, which may take seconds where threads fill their rings.
 * `meanwhile`: NULL: nothing. Returns false if that did not come to an end in time. */
bool recorder_take_all(struct recorder *r, const struct recorder_meanwhile *meanwhile);

/* Waits until what an attached process had allocated before is in the recording, or it is plain
 * that it never will be, for half a minute at most: what it has done since is told afterwards. To
 * be called before anything that needs all of that. */
void recorder_take_older(struct recorder *r);
/* The list of it will not get better: who makes it is gone. */
void recorder_hurry_older(struct recorder *r);

/* Drains the rings; returns the number of words taken. */
uint64_t recorder_drain(struct recorder *recorder);

/* Returns whether the process wants its rings to be drained now. */
bool recorder_is_called(const struct recorder *recorder);

/* Returns whether the rings fill slowly, since so few blocks are sampled. */
bool recorder_is_slow(const struct recorder *recorder);

/* Returns whether an error that differs from all before has come since the last call; it is in the
 * file. */
bool recorder_take_errors(struct recorder *recorder);

/* Returns whether the library of `heapwise check` serves the process: it knows every invalid free.
 */
bool recorder_is_guarded(const struct recorder *recorder);

/* Returns whether something was taken from the rings that is not in the file yet. */
bool recorder_has_unwritten(const struct recorder *recorder);

/* Does housekeeping, a few times a second: reclaims rings of ended threads, writes a chunk if the
 * last one is old, writes a checkpoint. */
void recorder_service(struct recorder *recorder);

/*
 * Sets a mark at the present moment. All events so far are before the mark, except one that a
 * thread has not finished recording. `name` has 1 to HW_MARK_NAME_MAX bytes and is valid
 * (ask_mark_problem()). *ret_ns becomes the time since the recording began. Returns NULL, or why it
 * can't be done.
 */
const char *recorder_mark(struct recorder *recorder, const char *name, uint64_t *ret_ns);

/*
 * Stops recording allocations, from the present moment on, or records them again. Frees of blocks
 * that are known are always recorded; once it was stopped, others may be right or wrong,
 * and are only counted. Does nothing if it is so already.
 */
void recorder_stop(struct recorder *recorder);
void recorder_resume(struct recorder *recorder);
/* Returns how long it has been stopped so far, in ns. */
uint64_t recorder_stopped_ns(const struct recorder *recorder);

/* Takes all events so far. Returns whether the program has a pool at the address. */
bool recorder_has_pool(struct recorder *recorder, uint64_t address);
/* The process was just forked from another one, which had these pools. */
void recorder_inherit_pools(struct recorder *recorder, const struct recorder *parent);

/* Lets the sums of dumps begin anew. What is live stays, unless `with_live`: then dumps leave it
 * out from now on, too. The recording itself keeps all. Returns NULL, or why it can't be done. */
const char *recorder_reset(struct recorder *recorder, bool with_live);

/* What is worth knowing of one that goes on; beside recorder_figures(). */
struct recorder_state {
	uint64_t events, lost, live_blocks, stopped_ns;
	/* When it began to record as it does now, or stopped: ns since the recording began. */
	uint64_t since_ns;
};
struct recorder_state recorder_state(const struct recorder *recorder);

/*
 * Writes all events so far to the file and lists the live blocks: *ret_count rows (struct
 * ask_block) can be read from the pipe *ret_fd. A copy of this process, which is not its child,
 * writes them. Returns NULL, or why it can't be done.
 */
const char *recorder_send_blocks(struct recorder *recorder, int *ret_fd, uint64_t *ret_count);

/* Takes all events so far, except one that a thread has not finished recording: a dump is about to
 * be made. Returns the time since the recording began, in ns. */
uint64_t recorder_prepare_dump(struct recorder *recorder);

struct recorder_dump {
	int fd;                  /* taken over */
	const char *name;        /* for messages */
	const char *why;         /* the reason, written into it */
	struct recorder_end end; /* HPW_EXIT_RUNNING, or how the process is ending */
};

/* Leaves what is shared with the process to the copies of this process that read it, when the
 * recorder is destroyed. */
void recorder_keep_shared(struct recorder *recorder);

/*
 * Writes what is live and all sums as a recording without events. For a copy of this process, which
 * ends afterwards: the recorder is of no more use.
 */
struct error *recorder_dump(
	struct recorder *recorder, const struct recorder_dump *dump) must_check_;

/* Returns the bytes of blocks that were allocated, freed, are live and were live at most; of
 * samples these are estimates. Cheap: to be called after each recorder_drain(). */
struct dump_figures recorder_figures(const struct recorder *recorder);

/* Begins to count pages for recorder_figures(), from what is live now on. Each event then costs
 * more. Returns false, and counts nothing, if there is no memory. */
bool recorder_count_pages(struct recorder *recorder);
void recorder_end_pages(struct recorder *recorder);

/* Looks what of that which the process has mapped is mapped no longer, and how far down stacks were
 * used, if that is recorded; not at_once: now and then. Drains the rings. */
void recorder_look_at_mappings(struct recorder *recorder, bool at_once);

/* Returns whether the process has announced its end and waits for recorder_release(). ret->kind is
 * HPW_EXIT_UNKNOWN if its exit status is not known. */
bool recorder_is_leaving(const struct recorder *recorder, struct recorder_end *ret);

/* The signal that dumps the process, unless that handles it itself; 0: none. The process learns it
 * when it begins, or after a request of its own. */
void recorder_want_signal(struct recorder *recorder, int signal);
/* Returns how often it has come. */
uint32_t recorder_dump_signals(const struct recorder *recorder);

/* From now on the process announces its end and waits for the answer. */
void recorder_await_end(struct recorder *recorder);

/* Lets a process that announced its end wait longer, for an answer that takes time. After
 * recorder_go_on() it may announce its end again. */
void recorder_hold_on(struct recorder *recorder);
void recorder_go_on(struct recorder *recorder);
/* Returns what the process has announced; only HW_LEAVES is its end. */
enum hw_leaving_what recorder_leaving_what(const struct recorder *recorder);
/* Returns whether the calls of the program's allocator can't be recorded, so that a search would
 * find nothing. */
bool recorder_is_bypassed(const struct recorder *recorder);
/* Returns whether a process that waits for an answer with its only thread certainly has no block
 * any more. Drains the rings. */
bool recorder_ends_empty(struct recorder *recorder);
/* Returns whether the process says that there is nothing to search. */
bool recorder_is_unsearched(const struct recorder *recorder);
/* Gives the process the result of the search that it requested, before recorder_go_on(). */
void recorder_send_verdict(struct recorder *recorder, const struct leak_verdict *verdict);
/* Returns whose function has requested the search that the process waits for. */
enum hw_leak_asker recorder_leaving_asker(const struct recorder *recorder);
/* Tells a process that waits for an answer that the work on it goes on. */
void recorder_heartbeat(struct recorder *recorder);

/* Writes a chunk with a given payload, after everything that it may refer to; it is in the file
 * then. */
void recorder_add_chunk(
	struct recorder *recorder, enum hpw_chunk_type type, const void *payload, size_t bytes);

/* Writes a chunk that refers to nothing, and empties `payload`. Returns false if it was not
 * written. */
bool recorder_add_plain(struct recorder *recorder, enum hpw_chunk_type type, struct buf *payload);

/* Prepares the recorder for another thread, which goes on with it: without the queue. */
void recorder_write_alone(struct recorder *recorder);

/* Lets a process go on that waits for its recording to be complete; after recorder_finish(). */
void recorder_release(struct recorder *recorder);

/* Drains the rings of an ended process a last time, completes the file, and fills *ret. */
void recorder_finish(
	struct recorder *recorder, const struct recorder_end *end, struct recorder_totals *ret);

#endif
