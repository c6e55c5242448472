/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see the functions. May touch: see the files that define them.
 *
 * What the files of this room share: settings, state, blocks and reports. The library serves the
 * program's allocations and examines them; README.md describes how.
 */
#ifndef RUNTIME_GUARD_H
#define RUNTIME_GUARD_H

#include "format/check.h"
#include "format/kinds.h"
#include "runtime/core/sys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function that programs call in place of libc's. Built with frame pointers: GUARD_CALLER(). */
#define GUARD_API __attribute__((visibility("default"), noinline))

#define GUARD_PAGE 4096u
#define GUARD_PAGE_SHIFT 12
/* Bytes of pages of live guarded blocks at a time, unless all are to be guarded. */
#define GUARD_LIVE_MOST (32ull << 20)

/* Where a function of ours was called: the return address, and sp and rbp as they are there. */
struct guard_caller {
	uint64_t pc, sp, rbp;
};

/* The caller of the function that this is written in. */
#define GUARD_CALLER()                                                                             \
	({                                                                                         \
		const uint64_t *guard_fp = __builtin_frame_address(0);                             \
		__asm__ volatile("" : "+r"(guard_fp)::"memory"); /* now: not kept over a call */   \
		(struct guard_caller){guard_fp[1], (uint64_t)(guard_fp + 2), guard_fp[0]};         \
	})

/* HEAPWISE_CHECK (format/check.h), read once. */
struct guard_settings {
	bool full;       /* every block is guarded, if that can be done */
	bool first;      /* the program ends with its first error */
	uint8_t align;   /* of guarded blocks that are asked for without alignment */
	uint8_t before;  /* percent of guarded blocks with the inaccessible page before them */
	uint32_t budget; /* percent of CPU time that guarding may cost */
	int backend;     /* enum hw_check_backend; -1: the best one that works */
	int signal;      /* the program ends by this one; 0: by `exit` */
	int exit;
	uint64_t seed; /* of all that is chosen at random */
	uint64_t keep; /* bytes of freed blocks that are kept from reuse */
	int sums; /* descriptor of a file to count in, which has this device and number; -1: none */
	uint64_t sums_device, sums_inode;
	bool started; /* this is the process that was started, and the first program in it */
};
extern struct guard_settings guard_settings;

/* Reads the settings from the environment, whose entries end with NULL, and takes the process's
 * number out of it. */
void guard_settings_read(char *const *environment);

enum guard_readiness {
	GUARD_ASLEEP = 0, /* no function of ours was called yet */
	GUARD_WAKING = 1, /* a thread prepares */
	GUARD_READY = 2,
	GUARD_OFF = 3, /* there is no room for our tables, or the program has a malloc of its own:
			  libc's allocator serves the program */
};
extern uint32_t guard_readiness; /* release, once all that it promises is there */

/* Prepares; called by the first function of ours that the program calls. */
void guard_start(void);

static inline bool guard_is_ready(void)
{
	if (rt_likely(__atomic_load_n(&guard_readiness, __ATOMIC_ACQUIRE) == GUARD_READY))
		return true;
	guard_start();
	return __atomic_load_n(&guard_readiness, __ATOMIC_ACQUIRE) == GUARD_READY;
}

/* What a thread has of its own. */
struct guard_thread {
	uint32_t tid;     /* 0: not asked for yet */
	uint32_t fork;    /* guard_forks when it was */
	uint32_t counted; /* 1 + its place among the counters; 0: none yet */
	uint32_t calls;   /* of functions of libc from places that call often */
	uint32_t frees;   /* of plain blocks, so far */

	uint32_t masked; /* signals that the program takes for blocked: enum guard_masked */
	bool handles; /* a handler of the program's for our signals runs, or was left by a jump */

#define GUARD_OPENED_MOST 4u
	/* Of step.c: pages that are to be closed after the instruction at stepped_rip. */
	uint64_t opened_pages[GUARD_OPENED_MOST];
	uint64_t stepped_rip;
	uint32_t opened, traps, repeats;
};
enum guard_masked {
	GUARD_MASKED_SEGV = 1,
	GUARD_MASKED_BUS = 2,
};
extern __thread struct guard_thread guard_here __attribute__((tls_model("initial-exec")));
extern uint32_t guard_forks; /* how many forks lie between this process and the first */

/* Called now and then by a thread that `handles`: our signals are not blocked in truth. */
void signals_review(void);

/* Returns the thread's id. */
uint32_t guard_tid(void);

/* A number that depends on the seed and on `what` alone. */
uint64_t guard_random(uint64_t what);

/* --- Blocks --- */

/* What is known of a block of the program's. */
struct guard_block {
	uint64_t start, bytes; /* as it was asked for */
	bool live, guarded;
	bool reported;                   /* what was written next to it is reported already */
	uint8_t alloc_kind;              /* enum hw_alloc_kind */
	uint8_t align_shift;             /* of the alignment that was asked for; 0: none was */
	uint32_t allocated_at, freed_at; /* numbers of stacks; 0: not known */
	uint32_t allocated_by, freed_by; /* threads; 0: not known */
};

enum guard_where {
	GUARD_NOWHERE = 0, /* in no block, and next to none */
	GUARD_INSIDE = 1,
	GUARD_AFTER = 2,
	GUARD_BEFORE = 3,
};

/*
 * Finds the block, live or freed, that `address` is in or next to; *ret only unless it is nowhere.
 * Of plain blocks (in libc's memory) the nearest before the address: it is GUARD_AFTER within
 * GUARD_NEAR bytes of its end; GUARD_BEFORE is within its header. Freed ones are known while they
 * are kept from reuse. Async-signal-safe, takes no lock; a block that another thread frees
 * meanwhile may be found or not.
 */
enum guard_where guard_find(uint64_t address, struct guard_block *ret);
#define GUARD_NEAR 4096u

/*
 * Allocates for the program. align: what was asked for, a power of 2; 0: nothing. Sets errno and
 * returns NULL if there is no memory.
 */
void *guard_allocate(
	size_t size, size_t align, enum hw_alloc_kind kind, struct guard_caller caller);

/* What a call that frees says of the block. */
struct guard_freeing {
	enum hw_free_kind kind;
	bool sized, aligned; /* it says these: */
	size_t size, align;
};

/* Frees what the program frees, and reports what is wrong with that. NULL is fine. */
void guard_free(void *block, struct guard_freeing freeing, struct guard_caller caller);

/* --- Reports --- */

/*
 * Reports an error of the program. Fills in flags and the stack that begins at `caller` (none, if
 * its pc is 0). May not return (errors=first). Async-signal-safe; errno is kept.
 */
void guard_report(
	enum hw_error_kind kind, struct hw_error_report *report, struct guard_caller caller);

/* Does so for a frame that was interrupted at `caller.pc`; its stack is report->stack. */
void guard_report_exact(
	enum hw_error_kind kind, struct hw_error_report *report, struct guard_caller caller);

/* Writes the facts of a block into a report. */
void guard_report_block(struct hw_error_report *report, const struct guard_block *block);

/* Writes a text of at most HW_ERROR_TEXT - 1 bytes into a report. */
void guard_report_text(struct hw_error_report *report, const char *text);

/* The number of the stack that begins there; 0: not known. exact: where it was interrupted. */
uint32_t guard_stack(struct guard_caller caller);
uint32_t guard_stack_exact(struct guard_caller caller);

/* Checks what lies next to all blocks, live and freed, for changes: at the end of the program. */
void guard_sweep(void);

/* --- Bytes --- */

/* The compiler must not make calls of them: those are examined. */
static inline void guard_copy(void *to, const void *from, size_t bytes)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
}

static inline void guard_fill(void *to, uint8_t byte, size_t bytes)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(byte) : "memory");
}

static inline uint64_t guard_load64(const void *from)
{
	uint64_t word;
	__builtin_memcpy(&word, from, sizeof(word));
	return word;
}

static inline void guard_store64(void *to, uint64_t word)
{
	__builtin_memcpy(to, &word, sizeof(word));
}

/* Adds in one instruction, which handlers of signals can't divide; other threads can. */
static inline void guard_add64(uint64_t *to, uint64_t n)
{
	__asm__ volatile("addq %1, %0" : "+m"(*to) : "r"(n));
}

/*
 * Copies bytes that may not be readable; returns whether they were. The handler of faults knows the
 * instruction that reads them (guard_peek_pc) and ends the copy.
 */
bool guard_peek(void *to, uint64_t from, size_t bytes);

/* The word at an address; 0 if it is not readable. */
uint64_t guard_peek_word(uint64_t from);

#endif
