/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What `heapwise check` finds in a program: the numbers and words that its runtime library
 * (runtime/guard), the runtime and the collector share. Kinds are stored in recordings, so a number
 * never changes its meaning; new ones go at the end.
 */
#ifndef FORMAT_CHECK_H
#define FORMAT_CHECK_H

#include <assert.h>
#include <stdint.h>

/* Kinds of errors; their names: hw_error_kind_name(). */
enum hw_error_kind {
	HW_ERROR_NONE = 0,
	HW_ERROR_READ = 1,
	HW_ERROR_WRITE = 2,
	HW_ERROR_FREE = 3,            /* of an address that is no block's */
	HW_ERROR_DOUBLE_FREE = 4,     /* memcheck: InvalidFree */
	HW_ERROR_MISMATCH = 5,        /* malloc, new and new[] mixed */
	HW_ERROR_SIZE = 6,            /* sized delete, another size */
	HW_ERROR_ALIGN = 7,           /* aligned delete, another alignment */
	HW_ERROR_OVERLAP = 8,         /* source and destination of memcpy and kin */
	HW_ERROR_SYSCALL = 9,         /* a buffer for the kernel reaches outside */
	HW_ERROR_FISHY = 10,          /* a size that is negative, or overflows */
	HW_ERROR_REALLOC_ZERO = 11,   /* a realloc to size 0 */
	HW_ERROR_BAD_ALIGN = 12,      /* memalign and kin */
	HW_ERROR_UNINIT = 13,         /* the result depends on memory never written */
	HW_ERROR_SYSCALL_UNINIT = 14, /* a buffer for the kernel with such memory */
	HW_ERROR_JUMP = 15,           /* execution of a block's memory */
	HW_ERROR_CANARY = 16,         /* found late: bytes next to the block have changed */
	HW_ERROR_FREED_WRITE = 17,    /* found late: a freed block has changed */
	HW_ERROR_KINDS = 18
};

/* Returns the name of a kind as answers have it: memcheck's, where it has the kind. Static, also of
 * a number that is no kind: "UnknownError". Async-signal-safe. */
static inline const char *hw_error_kind_name(uint64_t kind)
{
	static const char *const names[HW_ERROR_KINDS] = {
		[HW_ERROR_NONE] = "UnknownError",
		[HW_ERROR_READ] = "InvalidRead",
		[HW_ERROR_WRITE] = "InvalidWrite",
		[HW_ERROR_FREE] = "InvalidFree",
		[HW_ERROR_DOUBLE_FREE] = "DoubleFree",
		[HW_ERROR_MISMATCH] = "MismatchedFree",
		[HW_ERROR_SIZE] = "MismatchedAllocateDeallocateSize",
		[HW_ERROR_ALIGN] = "MismatchedAllocateDeallocateAlignment",
		[HW_ERROR_OVERLAP] = "Overlap",
		[HW_ERROR_SYSCALL] = "SyscallParam",
		[HW_ERROR_FISHY] = "FishyValue",
		[HW_ERROR_REALLOC_ZERO] = "ReallocSizeZero",
		[HW_ERROR_BAD_ALIGN] = "InvalidAlignment",
		[HW_ERROR_UNINIT] = "UninitValue",
		[HW_ERROR_SYSCALL_UNINIT] = "SyscallParam",
		[HW_ERROR_JUMP] = "InvalidJump",
		[HW_ERROR_CANARY] = "InvalidWrite",
		[HW_ERROR_FREED_WRITE] = "InvalidWrite",
	};
	return names[kind < HW_ERROR_KINDS ? kind : HW_ERROR_NONE];
}

/* What a report knows beyond its kind. */
enum hw_error_flag {
	HW_ERROR_IN_CALL = 1, /* the access was to be made by the function `text`, whose caller the
				 stack begins with; it was made (or not) in spite of the report */
	HW_ERROR_LATE = 2,    /* found after it was made: the stack is where it was found */
	HW_ERROR_AT_EXIT = 4, /* found by the sweep at the end: no stack of it */
	HW_ERROR_HAS_BLOCK = 8, /* block_* are known */
	HW_ERROR_FREED = 16,    /* that block is freed */
	HW_ERROR_GUARDED = 32,  /* that block had inaccessible pages next to it */
	HW_ERROR_ON_STACK = 64, /* the address is on a thread's stack */
	HW_ERROR_ENDS = 128,    /* the program ends because of it: --errors=first, or a
				 fault that nothing handles */
	HW_ERROR_UNSIZED = 256, /* the size of the access is not known (access_bytes: least) */
};

#define HW_ERROR_TEXT 48 /* bytes of the text, with the NUL */

/*
 * A report, as words of a ring record HW_R_ERROR after its first one (whose number is the kind).
 * Stacks are numbers of nodes (struct hw_node); 0: not known. Threads are thread ids; 0: not known.
 */
struct hw_error_report {
	uint64_t address;      /* of the access, of what was freed; of the destination */
	uint64_t access_bytes; /* its size; of HW_ERROR_SIZE: what was said; 0: none */
	uint64_t source;       /* HW_ERROR_OVERLAP: the source's address. HW_ERROR_UNINIT: the first
				  byte's offset in the block. HW_ERROR_FISHY: so many of
				  access_bytes overflow; 0: access_bytes is what was given */
	uint64_t block, block_bytes;     /* address and size as they were asked for */
	uint32_t flags;                  /* enum hw_error_flag */
	uint32_t stack;                  /* where it was made, or found */
	uint32_t allocated_at, freed_at; /* stacks of the block */
	uint32_t allocated_by, freed_by; /* threads */
	uint8_t alloc_kind, free_kind;   /* enum hw_alloc_kind of the block, hw_free_kind of the
					    call that is wrong */
	uint8_t reserved[6];
	char text[HW_ERROR_TEXT]; /* "memcpy", "read(buf)"; "": nothing. Zeros after the NUL */
};
static_assert(sizeof(struct hw_error_report) == 120, "in rings");
#define HW_ERROR_WORDS (sizeof(struct hw_error_report) / 8)

/* By what means blocks are guarded, as probed when the program starts. */
enum hw_check_backend {
	HW_BACKEND_NONE = 0,    /* by canaries and quarantine alone */
	HW_BACKEND_MADVISE = 1, /* MADV_GUARD_INSTALL, Linux 6.13 */
	HW_BACKEND_UFFD = 2,    /* userfaultfd with UFFD_FEATURE_SIGBUS, Linux 5.11 */
	HW_BACKEND_MPROTECT = 3,
	HW_BACKENDS = 4
};

/* What was looked at: in the shared memory, written by the target with relaxed adds. */
struct hw_check_sums {
	uint32_t backend;  /* enum hw_check_backend */
	uint32_t is_there; /* 1: runtime/guard serves this process */
	uint64_t seed;
	uint64_t blocks, bytes;                 /* allocated by the program */
	uint64_t guarded_blocks, guarded_bytes; /* of them, with inaccessible pages */
	uint64_t stacks, guarded_stacks; /* different ones that allocated; of which a block was
					    guarded. Counted in a table of a fixed size: */
	uint64_t stacks_uncounted;       /* blocks of stacks that found no place in it */
	uint64_t reports;                /* of errors, equal ones not counted again */
	uint64_t dropped;                /* reports for which there was no room */
	uint64_t filled_bytes;           /* of the latest block that was filled with fill2 */
	uint64_t numbered;               /* blocks that have numbers: of the process that was
					    started, until it executes another program */
	uint32_t limits;                 /* enum hw_check_limit, or'ed */
	uint32_t reserved;
};

/* Why less was guarded than was asked for. */
enum hw_check_limit {
	HW_CHECK_LIMIT_BUDGET = 1,   /* the CPU budget */
	HW_CHECK_LIMIT_SPACE = 2,    /* address space (ulimit -v, or the reservation is used up) */
	HW_CHECK_LIMIT_MAPS = 4,     /* vm.max_map_count */
	HW_CHECK_LIMIT_MEMORY = 8,   /* memory of guarded blocks */
	HW_CHECK_LIMIT_LOCKED = 16,  /* mlockall: guards are refused */
	HW_CHECK_LIMIT_FORK = 32,    /* a forked child could not re-arm them, or not sweep */
	HW_CHECK_LIMIT_SANDBOX = 64, /* the program has forbidden itself system calls (seccomp) */
	HW_CHECK_LIMIT_ERRORS = 128, /* too many errors: pages of some were left accessible */
	HW_CHECK_LIMIT_PASSED = 256, /* the program had blocks from libc past the allocator */
};

/*
 * The options of runtime/guard, in the environment of the program and what it starts:
 * HEAPWISE_CHECK=KEY=VALUE,… Keys: full (0, 1), align (1, 2, 4, 8, 16), before (percent of guarded
 * blocks that have the inaccessible page before them; default 20), budget (percent of CPU), seed
 * (hexadecimal), keep (bytes of quarantine), errors (all, first), signal (number; 0: none), exit
 * (status of a program that ends because of a report), backend (auto, madvise, uffd, mprotect,
 * none), fill (hexadecimal byte of new blocks; default: not filled), fill2, fill2-from, fill2-to
 * (blocks of these numbers, counted from 0, to the second exclusive, are filled with fill2),
 * fill2-bytes (FIRST-LAST of each of them, both inclusive), fill2-skip (a number among them that is
 * not; again and again), uninit (NUMBER:FIRST-LAST: a block is reported as HW_ERROR_UNINIT when it
 * is allocated; again and again), process (number of the process that is started, with zeros in
 * front: it alone, until it executes another program, has numbered blocks and uses sums; it makes
 * the number 0 in its environment, so that no program that it executes takes itself for it;
 * default: each process is it), fill2-others (1: all blocks of other processes get fill2, 0: none
 * does), leaves (CALL:NUMBER:FIRST-LAST, the first hexadecimal: these bytes of what a call hands to
 * the kernel are reported as HW_ERROR_SYSCALL_UNINIT, if they are as new blocks are filled; see
 * struct hw_leaving; again and again), sums (DESCRIPTOR:DEVICE:INODE of a file of sizeof(struct
 * hw_check_page), format/check_leaves.h, which is mapped and closed at the start; its sums are used
 * in place of the shared memory's; another file at that number is not touched). Unknown keys are
 * passed over.
 */
#define HW_CHECK_ENV "HEAPWISE_CHECK"

#endif
