/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recording of one process image: its rings merged, its books kept, its file written.
 */
#ifndef CAPTURE_RECORDER_H
#define CAPTURE_RECORDER_H

#include "base/error.h"
#include "capture/collector/clock_pair.h"
#include "capture/keep.h"
#include "capture/leaks/leak_check.h"
#include "capture/leaks/spared.h"
#include "capture/recorder/bad_frees.h"
#include "capture/recorder/code_names.h"
#include "capture/recorder/live.h"
#include "capture/recorder/merge.h"
#include "capture/recorder/mode.h"
#include "capture/recorder/moving.h"
#include "capture/recorder/ring_source.h"
#include "capture/recorder/tally.h"
#include "capture/recorder/unrecorded.h"
#include "capture/writer.h"
#include "capture/writer/checkpoint.h"
#include "capture/writer/encode.h"
#include "capture/writer/sums.h"
#include "format/shm.h"

#include <stdint.h>
#include <sys/types.h>

struct recorder_start {
	pid_t pid, outer_ppid;   /* as this side sees it and its parent */
	pid_t target_pid, ppid;  /* as the target sees them */
	const char *memory_name; /* as it is shown in the target's memory map; NULL: any */
	bool forked;             /* it began as a copy of another process, with that one's blocks */
	uint64_t forked_at;      /* number of that one's fork; 0: not known */
	const char *parent_file; /* base name of that one's recording; NULL: not known */
	/* Where its events come from, borrowed for as long as the recorder lives; NULL: from the
	 * runtime in that process, over rings that are made for it. */
	struct event_source *source;
	uint64_t tsc_hz; /* of stamps, the source's too */
	struct mode mode;
	struct clock_pair began;
	bool awaited;             /* it is to say when it ends, and wait for the answer */
	bool awaited_at_main_end; /* and when its main has ended */
	bool as_lsan;             /* see struct leak_check */
	bool clears;              /* it clears memory as it gives it out */
	/* Of the executable, HW_LSAN_FUNCTIONS of them; NULL: not known. */
	const uint64_t *lsan_functions;
	int file;              /* taken over */
	const char *file_name; /* borrowed during the call */
};

struct recorder {
	pid_t pid, target_pid;
	bool forked;
	bool own_malloc; /* as program_has_own_malloc() has it; who knows the program sets it */
	struct mode mode;
	bool folds; /* events go into the sums alone */
	struct event_source *source;
	/* If the process has the runtime in it. What it says at its end and searches for leaks go
	 * by this memory alone, not by the source; NULL: there are none. */
	struct hw_shm *shm;
	struct ring_source rings;
	int memory; /* the memfd, to hand to the target; -1 once that is done */
	struct merge merge;
	struct live live;
	struct moving moving;
	struct spared spared;
	struct tally tally;
	struct encoder encoder;
	struct writer writer;
	struct keep keep;
	struct checkpoints checkpoints;
	struct sums sums;
	struct buf *aside;    /* where chunks go instead of the file; NULL: into the file */
	uint64_t chunk_steps; /* a chunk of events is closed after so many */
	struct buf payload;   /* reused for each chunk */
	struct clock_pair began;
	uint64_t flushed_ns, flush_pause_ns;
	uint64_t resident_bytes; /* of the process, as hw_status_resident(), about a second ago */
	uint32_t modules_written, code_written, sites_written;
	uint64_t threads_written; /* as many as there were then */
	uint8_t *stacks_known;    /* bit set of the nodes that are in the file or in `stacks` */
	uint32_t *stacks;         /* numbers of nodes to write next */
	size_t stacks_count, stacks_capacity;
	struct code_names code_names;
	struct unrecorded_list unrecorded; /* who sees such programs adds them */
	struct bad_frees bad_frees;
	uint32_t stacks_end;     /* one more than the largest number in the file */
	uint64_t stacks_bad;     /* numbers that made no sense */
	uint64_t blocks_dropped; /* no memory for them: the books are not exact any more */
	uint32_t in_flight; /* at the end: events that were begun, and will not be told any more */
	int instructions;   /* see instructions.h; -1: not counted */
	uint64_t marks;     /* set by the program or from outside, among the steps that are kept */
	uint64_t forks;     /* that the process told */
	uint64_t frees_added;    /* of blocks whose address was given out again */
	struct error *error;     /* the first that happened; recording goes on without the file */
	bool has_search;         /* what a search for leaks came to is in the file */
	struct leak_found found; /* by the last one */
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
	uint64_t wrong_frees;  /* where blocks were freed twice, or wrongly; or how many, if that is
				  more */
	uint64_t unheard;      /* programs that it started, or that went on as it, unrecorded, of
				  which nobody could tell but how many they were */
	uint64_t memory_bytes; /* the collector's largest resident size */
	uint32_t connected;    /* 1: the program loaded the runtime and answered */
	uint32_t notes;        /* enum hpw_note */
	uint32_t write_error;  /* 1: the file is incomplete; the message says why */
	uint32_t file_gone;    /* 1: that is because it was removed or replaced */
	uint32_t went_on;      /* 1: the process became another program (exec) */
	struct leak_found found;
	char message[256];
};

/* On failure nothing is left behind but the file's content so far. */
struct error *recorder_create(const struct recorder_start *start, struct recorder **ret);
void recorder_destroy(struct recorder *recorder);

/* Takes what is in the rings; returns the number of words, 0: nothing happened. */
uint64_t recorder_drain(struct recorder *recorder);

/* Whether the process wants its rings to be taken now, however idle it was before. */
bool recorder_is_called(const struct recorder *recorder);

/* Whether something was taken from the rings that is not in the file yet. */
bool recorder_has_unwritten(const struct recorder *recorder);

/* Housekeeping, a few times a second: rings of ended threads, a chunk if the last one is old, a
 * checkpoint. */
void recorder_tend(struct recorder *recorder);

/*
 * Marks the present moment: what has happened by now is before the mark, unless a thread is held up
 * in the middle of telling it. name: 1 to HW_MARK_NAME_MAX bytes; *ret_ns: since the recording
 * began. The name is right (ask_mark_problem()). NULL, or why it can't be done.
 */
const char *recorder_mark(struct recorder *recorder, const char *name, uint64_t *ret_ns);

/*
 * Puts what has happened by now into the file, and tells what lives: *ret_count rows (struct
 * ask_block) come through a pipe whose reading end is *ret_fd, from a copy of this process that is
 * no child of it. NULL, or why it can't be done.
 */
const char *recorder_tell_blocks(struct recorder *recorder, int *ret_fd, uint64_t *ret_count);

/* Whether the process says that it ends now and waits for recorder_release(). The status is
 * HPW_EXIT_UNKNOWN's if it is not known. */
bool recorder_is_leaving(const struct recorder *recorder, struct recorder_end *ret);

/* The same process waits for an answer that takes long, and may after recorder_go_on() say once
 * more that it ends. */
void recorder_hold_on(struct recorder *recorder);
void recorder_go_on(struct recorder *recorder);
/* What the process has come to that says so; only HW_LEAVES is its end. */
enum hw_leaving_what recorder_leaving_what(const struct recorder *recorder);
/* Whether nothing was seen of the allocator that the program uses: a search would find nothing. */
bool recorder_is_blind(const struct recorder *recorder);
/* Whether a process that waits for an answer with its only thread has no block any more, for
 * certain: takes all that has happened. */
bool recorder_ends_empty(struct recorder *recorder);
/* Whether the process says that there is nothing to search. */
bool recorder_is_unsearched(const struct recorder *recorder);
/* The search that it has asked for came to this: goes before recorder_go_on(). */
void recorder_tell_found(struct recorder *recorder, enum hw_found found, uint32_t status);
/* The answer is still being worked on. */
void recorder_beat(struct recorder *recorder);

/* Writes a chunk with a payload made elsewhere, behind everything it may refer to. */
void recorder_add_chunk(
	struct recorder *recorder, enum hpw_chunk_type type, const void *payload, size_t bytes);

/* The same of what refers to nothing; empties `payload`. False: it is not in the file. */
bool recorder_add_plain(struct recorder *recorder, enum hpw_chunk_type type, struct buf *payload);

/* After recorder_finish(), of a process that still lives: it waits for nothing any more. */
void recorder_release(struct recorder *recorder);

/* The process is gone: takes the rest, completes the file, fills *ret. */
void recorder_finish(
	struct recorder *recorder, const struct recorder_end *end, struct recorder_totals *ret);

#endif
