/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The agent's state and its parts. One process has one JVM and one agent.
 *
 * Locks, in this order: `command` (one command at a time; also held while live objects are looked
 * through), `tables`. No function of the JVM is called while `tables` is held: a thread that the
 * JVM stops in one must not stop all others that allocate.
 */
#ifndef RUNTIME_JVM_AGENT_H
#define RUNTIME_JVM_AGENT_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/jvm/jvm_api.h"
#include "runtime/jvm/sample_tables.h"

#define DEPTH_USUAL 256u
#define DEPTH_MAX 2048u
#define INTERVAL_USUAL 524288u

struct agent_settings {
	uint64_t interval; /* mean bytes between samples */
	unsigned depth;    /* frames of a stack at most */
	bool has_live;     /* objects are followed */
	bool has_threads;  /* a thread's name is the outermost frame */
};

struct agent {
	jvm_vm vm;
	jvm_tool tool;
	pthread_mutex_t command, tables_lock;
	struct agent_settings settings;
	struct sample_tables tables;
	bool has_tables;
	uint64_t id;               /* of the recording: how many were started */
	bool is_held;              /* by a command that runs: it alone stops it */
	char *waiting_options;     /* the JVM starts: a command for when it is ready; else NULL */
	_Atomic bool is_recording; /* read by callbacks of any thread */
	_Atomic uint32_t epoch;    /* garbage collections that ended */
	uint32_t start_epoch;      /* these when the recording began */
	_Atomic uint64_t samples, lost, cut;
	/* Samples drawn at a larger interval, by a thread that was there before; `tables` is held.
	 */
	uint64_t early;
	double early_bytes, all_bytes;    /* all_bytes: of all samples */
	uint64_t start_ns;                /* CLOCK_REALTIME */
	uint64_t recorded_ns, resumed_ns; /* CLOCK_MONOTONIC: until, and since, the last start */
	char exit_file[1024];             /* written when the JVM ends; "": nowhere */
	char exit_program[256];           /* the program's name in it; "": none */
	/* The thread that looks for objects that are gone after each collection. */
	pthread_t sweeper;
	bool has_sweeper;
	_Atomic bool sweeper_ends;
	sem_t collected;
};

extern struct agent agent;

/*
 * A thread draws where its next sample is when it starts and after each sample, at the interval
 * that the JVM has then. A change of the interval is nothing to it before its next sample, so the
 * agent knows by each thread's storage of JVM TI at which one it drew; none: at that of the
 * recording. Virtual threads of Java 21 count as drawing at the recording's.
 */
struct waiting {
	uint64_t threads, bytes; /* how many, and the sum of their intervals */
};
/*
 * Marks threads that have no mark with an interval (0: leaves them). Returns those whose next
 * sample is still drawn at a larger interval than that of the recording.
 */
struct waiting threads_mark(jvm_jni jni, uint64_t interval);
/* The interval that the thread drew its sample at; the next one is drawn at the recording's. */
uint64_t thread_drawn(jvm_tool tool, jvm_object thread);

/* Callbacks of the JVM (sampling.c). */
void sampling_object(jvm_tool tool, jvm_jni jni, jvm_object thread, jvm_object object,
	jvm_object class, int64_t size);
void sampling_collected(jvm_tool tool);

/* Frees the slots of objects that are gone. `command` is held (live.c). */
void live_sweep(jvm_jni jni);
/* Sums up live objects, by cell, of those that `survived` collections or more. Both locks are taken
 * inside; `command` is held. */
void live_sum(jvm_jni jni, uint32_t survived, uint64_t *ret_young);
/* Deletes all weak references; nothing is recorded. */
void live_drop(jvm_jni jni);
bool live_sweeper_start(void);
void live_sweeper_end(void);

#define HOLDER_PATH_MAX 1024u
/*
 * Ends the recording `id` once nobody holds the FIFO at that path open for writing, by a thread of
 * its own, which then removes what the command has left there (holder.c). False: `errno` says what
 * is in the way; ESRCH: nobody holds it.
 */
bool holder_watch(const char *path, uint64_t id);
/* Nobody waits for that recording any more: ends it if it still runs. Called without locks. */
void recording_abandon(uint64_t id);

/* The JNI environment of this thread; NULL: it belongs to no JVM. */
jvm_jni agent_jni(void);
uint64_t agent_now_ns(int clock);

#endif
