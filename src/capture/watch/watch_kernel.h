/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs and maps of `watch` in the kernel (src/bpf/watch.bpf.c; of `watch --growth`:
 * growth.bpf.c): loaded, set, attached, read. Everything there goes with the descriptors of this
 * process: if it is killed, no probe stays.
 */
#ifndef CAPTURE_WATCH_KERNEL_H
#define CAPTURE_WATCH_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "bpf/watch_maps.h"
#include "capture/watch.h"
#include "capture/watch/bpf_library.h"
#include "capture/watch/watched_functions.h"

enum watch_map {
	WATCH_MAP_CONFIG,
	WATCH_MAP_TABLE,
	WATCH_MAP_ROWS,
	WATCH_MAP_BLOCKS,
	WATCH_MAP_SITES,
	WATCH_MAP_THREADS,
	WATCH_MAP_BLANK,
	WATCH_MAP_COUNTDOWN,
	WATCH_MAP_LOGS,
	WATCH_MAP_WEIGHTS,
	WATCH_MAP_COUNTS,
	WATCH_MAP_EVENTS,
	WATCH_MAP_BREAK, /* of growth.bpf.c alone */
	WATCH_MAPS,
};

/* How probes are attached: the best that the kernel has. */
enum watch_way {
	WATCH_WAY_SESSION,      /* one probe for call and return (Linux 6.13) */
	WATCH_WAY_MULTI,        /* two, many functions at once (6.6) */
	WATCH_WAY_PERF,         /* two events of perf for each function */
	WATCH_WAY_FAULTS,       /* no probes, but page faults and system calls */
	WATCH_WAY_FAULTS_PLAIN, /* the same, of kernels without BTF */
	WATCH_WAY_KMEM,         /* tracepoints of the kernel's allocators */
};

struct watch_sizes {
	uint32_t blocks, sites, threads; /* entries at most */
	uint32_t rows;                   /* in each of two tables */
	uint32_t ring_bytes;             /* a power of two */
};

DEFINE_VEC(watch_links, int)

struct watch_kernel {
	struct bpf_library bpf;
	struct bpf_object *object;
	enum watch_probes probes; /* that are asked for */
	enum watch_way way;
	int maps[WATCH_MAPS];
	int session, call, back; /* programs; -1: not loaded */
	int fault, leave;        /* those of page faults and system calls */
	int kmem;                /* that of the kernel's allocators */
	struct watch_links links;
	struct watch_row *rows; /* mapped: two tables of sizes.rows */
	struct watch_sizes sizes;
	struct watch_config config;
	unsigned table;           /* which of the two is in force */
	struct ring_buffer *ring; /* NULL: none */
};

/*
 * Loads programs and maps. ERROR_ENVIRONMENT: the kernel refuses; the message says what is missing.
 * Call watch_kernel_close() in any case.
 */
struct error *watch_kernel_open(const struct watch_sizes *sizes, const struct watch_config *config,
	enum watch_probes probes, int (*on_event)(void *context, void *data, size_t bytes),
	void *context, struct watch_kernel *ret) must_check_;
void watch_kernel_close(struct watch_kernel *kernel);

/* As watch_kernel_open(), for the programs of growth.bpf.c: the map of blocks is that of pages. */
struct error *watch_kernel_open_growth(const struct watch_sizes *sizes,
	const struct watch_config *config, int (*on_event)(void *context, void *data, size_t bytes),
	void *context, struct watch_kernel *ret) must_check_;

/* As watch_kernel_open(), for the program of kmem.bpf.c, which has no unwind tables and no events:
 * of `sizes` blocks and sites alone. */
struct error *watch_kernel_open_kmem(const struct watch_sizes *sizes,
	const struct watch_config *config, struct watch_kernel *ret) must_check_;

/* Has the program of kmem.bpf.c run at a tracepoint, whose number in the kernel is `id`. */
struct error *watch_kernel_follow_tracepoint(
	struct watch_kernel *kernel, unsigned id, const char *name, uint64_t cookie) must_check_;

/* Reads how many events of the kernel's allocators ran no program, since another one ran on the
 * processor. *ret_known: the kernel counts them (Linux 6.7). */
struct error *watch_kernel_skipped(
	const struct watch_kernel *kernel, uint64_t *ret, bool *ret_known) must_check_;

/* Follows the page faults of a thread, and of threads that it starts from now on. *ret_gone: there
 * is no such thread, which is no error. */
struct error *watch_kernel_follow_faults(
	struct watch_kernel *kernel, pid_t thread, bool *ret_gone) must_check_;

/* Follows system calls of the process that change its mappings. `program_break`: its break, 0 if
 * that is not known. */
struct error *watch_kernel_follow_calls(
	struct watch_kernel *kernel, uint64_t program_break) must_check_;

/* Puts other rows in force. They must fit: count at most sizes.rows. */
struct error *watch_kernel_rows(
	struct watch_kernel *kernel, const struct watch_row *rows, uint32_t count) must_check_;

/* Says up to what size requests of functions that throw can't fail (throw_limit.h). At first none.
 * Without sessions they are never followed. */
struct error *watch_kernel_throws(struct watch_kernel *kernel, uint64_t bytes) must_check_;

/* Probes functions of a file in one process. `path` must lead to the file that the process has
 * mapped. */
struct error *watch_kernel_attach(struct watch_kernel *kernel, const char *path, pid_t pid,
	const struct watched_places *places) must_check_;

/* Takes the probes away; what was counted stays. Calls of all functions are left alone from one
 * moment on, but for reallocs under way, which are seen to their end. */
void watch_kernel_detach(struct watch_kernel *kernel);

/* Hands events to on_event, until that returns -EAGAIN: the others wait. */
struct error *watch_kernel_events(struct watch_kernel *kernel) must_check_;

/* Returns a descriptor that can be read when the kernel wakes this process for an event; -1: there
 * are none. */
int watch_kernel_fd(const struct watch_kernel *kernel);

/* Reads the counters of enum watch_count. */
struct error *watch_kernel_counts(
	const struct watch_kernel *kernel, uint64_t ret[WATCH_COUNTS]) must_check_;

/* Called with up to some thousand entries of a map; returns false if there is no memory. */
typedef bool watch_entries(void *context, const void *keys, const void *values, size_t count);
/* Goes through a map of blocks or sites while it changes: entries may be missing or come twice only
 * if they change meanwhile. */
struct error *watch_kernel_each(const struct watch_kernel *kernel, enum watch_map map,
	watch_entries *found, void *context) must_check_;

/* Reads the value of a key. */
struct error *watch_kernel_find(const struct watch_kernel *kernel, enum watch_map map,
	const void *key, void *ret, bool *ret_found) must_check_;

/* Goes through the keys of a map of 32-bit keys, and removes those of which `is_gone` is true. */
struct error *watch_kernel_purge(const struct watch_kernel *kernel, enum watch_map map,
	bool (*is_gone)(void *context, uint32_t key), void *context) must_check_;

/* Removes an entry; one that is not there is no error. */
void watch_kernel_remove(const struct watch_kernel *kernel, enum watch_map map, const void *key);

#endif
