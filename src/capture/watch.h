/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches the allocations of a process from the kernel, by eBPF programs at the functions of its
 * allocator: nothing is written to the process, and it is never stopped. Or those of the kernel
 * itself, by programs at its tracepoints. What had been allocated before is not known.
 * docs/watch.md; docs/decisions/0041-watch.md.
 */
#ifndef CAPTURE_WATCH_H
#define CAPTURE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"

/* Bytes between samples, if not all allocations are followed. */
#define WATCH_MEAN_BYTES (512u << 10)

/* An allocation or a free, as it happened. */
struct watch_news {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t address, size;
	uint32_t thread; /* its number in the kernel's own PID namespace */
	bool is_free;
};

enum watch_call_kind {
	WATCH_CALL_ALLOC,  /* a block of `size` bytes at `address`; `old`: where it was before a
			      realloc, 0: nowhere, or it is not known */
	WATCH_CALL_FREE,   /* of the block at `address`; `size`: by a realloc to so many bytes */
	WATCH_CALL_RESIZE, /* a realloc of the block at `address` begins, which the thread's next
			      call ends */
	WATCH_CALL_FAILED, /* a call for `size` bytes; `old`: of the block that is to be resized */
};

/* A call, in the order in which addresses are given back and given out again. */
struct watch_call {
	enum watch_call_kind kind;
	uint32_t thread;
	unsigned function; /* watch_call_function() */
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	uint64_t address, size, old;
	uint64_t site; /* watch_stack_of(); of a free the block's; not of WATCH_CALL_RESIZE */
};

/* How functions are probed. */
enum watch_probes {
	WATCH_PROBES_AUTO,  /* as best the kernel can */
	WATCH_PROBES_MULTI, /* many at once (Linux 6.6), by sessions if it has them */
	WATCH_PROBES_PERF,  /* one event of perf each: takes CAP_SYS_ADMIN */
};

struct watch_options {
	pid_t pid;
	bool is_kernel; /* the kernel's own allocations instead, of the whole machine: of the
			   options below `every` and the sizes count */
	bool is_percpu; /* of these the memory that each processor has its own of, alone */
	enum watch_probes probes;
	uint64_t mean_bytes;         /* sample by bytes, this far apart on average; 0: no */
	uint32_t every;              /* or one of so many allocations, by chance; 0 or 1: all */
	uint64_t min_size, max_size; /* blocks outside are not followed; max_size 0: no limit */
	const char *object; /* only functions of this file (its name, with or without lib and
			       .so); NULL: of every file that defines malloc or mmap */
	bool is_dry;        /* only find what would be probed, and whether the kernel allows it */
	/* Or NULL: called for each allocation and free, by watch_poll(). */
	void (*on_event)(void *context, const struct watch_news *news);
	/* Or NULL: called for each call, by watch_poll() and watch_take(); mappings are left out.
	 * Returns whether another one has room now; else the others wait. */
	bool (*on_call)(void *context, const struct watch_call *call);
	void *context;
};

/* A file that the process has, or had, mapped. */
struct watch_module {
	char *path;      /* as the process calls it */
	char *open_path; /* where it can be opened; NULL: at `path` */
	uint64_t start, end, bias;
	uint8_t build_id[32];
	size_t build_id_len;
	bool is_gone;
	size_t file; /* private */
};
DEFINE_VEC(watch_modules, struct watch_module)

/* A stack at which a function was called that allocates. */
struct watch_stack {
	const uint64_t *frames; /* return addresses, innermost first */
	unsigned frame_count;
	const char *function; /* "malloc", of the kernel "kmalloc"; NULL: of all stacks that found
				 no room */
	const char *symbol;   /* as the linker knows it: "_Znwm"; likewise */
	bool is_incomplete;   /* the outermost frames are missing: not unwound, or more than fit */
	bool is_cut;          /* they are missing since there are more than fit */
	bool is_guessed;      /* some frames were found by frame pointers */
	bool is_mapping;      /* by mmap */
	bool is_own;          /* a mapping that the allocator made for itself; no row */
	/* Older than the age asked for, and not freed. With samples: estimates. */
	double live_blocks, live_bytes;
	uint64_t live_samples;
	/* Since the start of watching, of all ages. */
	double all_blocks, all_bytes, freed_blocks, freed_bytes;
	uint64_t all_samples;
};
DEFINE_VEC(watch_stacks, struct watch_stack)

/* What was missed or is not known. */
struct watch_losses {
	uint64_t blocks;        /* allocations without room in the table of blocks */
	uint64_t stacks;        /* whose stack found no room */
	uint64_t threads;       /* calls by threads that found no room */
	uint64_t events;        /* mappings, or events of on_event, that found no room */
	uint64_t rows_missing;  /* rows of unwind tables that found no room */
	uint64_t throwing;      /* calls of operator new that were left alone: they might throw */
	uint64_t failed;        /* allocations that failed (no loss) */
	uint64_t unknown_frees; /* frees of blocks from before, or lost (with samples: 0) */
	uint64_t replaced;      /* blocks of which the free was not seen */
	uint64_t resizes; /* of on_call: sampled blocks that live on unseen: their realloc failed */
	uint64_t programs; /* that the process executed meanwhile: what was live before is gone */
	uint64_t skipped; /* of the kernel: allocations and frees that ran no program, since another
			     one ran on the processor; unknown unless: */
	bool skipped_is_known;
	uint64_t samples, incomplete; /* allocations seen, and those with incomplete stacks */
};

struct watch;

/*
 * Starts a program that is to be watched: a child, stopped when its libraries are mapped and
 * nothing of it has run. ERROR_INPUT: it can't be executed. Then: watch_open(), and watch_release()
 * lets it run, or watch_spawn_drop() ends it.
 */
struct error *watch_spawn(char *const *argv, pid_t *ret) must_check_;
struct error *watch_release(pid_t pid) must_check_;
void watch_spawn_drop(pid_t pid);

/* Begins. ERROR_INPUT: the process can't be watched, ERROR_ENVIRONMENT: the kernel refuses. */
struct error *watch_open(const struct watch_options *options, struct watch **ret) must_check_;
void watch_close(struct watch *watch);

static inline void watch_cleanup(struct watch **watch)
{
	watch_close(*watch);
}

/*
 * To be called some ten times a second: takes events from the kernel, and looks after new modules
 * now and then. *ret_ended: the process has ended.
 */
struct error *watch_poll(struct watch *watch, bool *ret_ended) must_check_;

/* A descriptor that can be read when watch_poll() should be called at once. */
int watch_fd(const struct watch *watch);

/* Takes the probes away: nothing changes from then on but by watch_look(). */
void watch_stop(struct watch *watch);

/*
 * Reads what there is now: blocks older than `older_ns`. The stacks are in the order of their
 * discovery, so that later looks have the same ones first.
 */
struct error *watch_look(struct watch *watch, uint64_t older_ns) must_check_;
const struct watch_stacks *watch_stacks_get(const struct watch *watch);
const struct watch_losses *watch_losses_get(const struct watch *watch);

/* A block that is live at the last watch_look(), if that was to keep them. */
struct watch_live {
	uint64_t address, size, time_ns;
	double weight; /* the blocks that it stands for */
	size_t stack;
};
DEFINE_VEC(watch_lives, struct watch_live)
/* The next looks keep each live block. */
void watch_keep_blocks(struct watch *watch);
const struct watch_lives *watch_lives_get(const struct watch *watch);

const struct watch_modules *watch_modules_get(const struct watch *watch);
/* Returns the number of the module that an address is or was in; SIZE_MAX: none. */
size_t watch_modules_find(const struct watch_modules *modules, uint64_t address);

/* Of on_call. Takes what calls there are; *ret_more: some had no room. They are all that began
 * before *ret_ns if there are no more. */
struct error *watch_take(struct watch *watch, bool *ret_more, uint64_t *ret_ns) must_check_;
/* Finds the stack of a call: its number in watch_stacks_get(). SIZE_MAX: not known. */
struct error *watch_stack_of(struct watch *watch, uint64_t site, size_t *ret) must_check_;
/* The name of a call's function, as the linker knows it; NULL: not known. */
const char *watch_call_function(unsigned function);
/* Reads the losses alone, without a look: `samples` and `incomplete` stay as they were. */
struct error *watch_losses_read(struct watch *watch) must_check_;
/* When the process began another program for the last time, CLOCK_MONOTONIC; 0: it never did. */
uint64_t watch_replaced_ns(const struct watch *watch);
/* Whether numbers of threads are those of this process's PID namespace. */
bool watch_sees_threads(const struct watch *watch);

/* Whether it is the kernel that is watched: frames are its addresses, in no module. */
bool watch_is_kernel(const struct watch *watch);

/* How it is done, in words: "uprobe sessions". Static. */
const char *watch_way_name(const struct watch *watch);
/* How many functions are probed, and in how many files; of the kernel, how many tracepoints. */
void watch_probes(const struct watch *watch, size_t *ret_functions, size_t *ret_files);

#endif
