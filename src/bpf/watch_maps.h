/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs in the kernel (watch.bpf.c, growth.bpf.c) and the command share: keys and
 * values of their maps, and what the cookie of a probe says. Both sides are of one build.
 */
#ifndef BPF_WATCH_MAPS_H
#define BPF_WATCH_MAPS_H

#include <linux/types.h>

/* What a probed function does with its arguments. */
enum watch_shape {
	WATCH_SIZE,          /* f(size) */
	WATCH_SIZE_THROWS,   /* f(size), which throws if it fails (operator new) */
	WATCH_COUNT_SIZE,    /* f(count, size) */
	WATCH_ALIGN_SIZE,    /* f(alignment, size) */
	WATCH_MEMALIGN_TO,   /* f(where to, alignment, size), returns 0 on success */
	WATCH_RESIZE,        /* f(block, size) */
	WATCH_RESIZE_COUNT,  /* f(block, count, size) */
	WATCH_RESIZE_STRICT, /* as WATCH_RESIZE, but size 0 is no free (rallocx) */
	WATCH_FREE,          /* f(block, …) */
	WATCH_MAP,           /* mmap */
	WATCH_UNMAP,         /* munmap */
	WATCH_REMAP,         /* mremap */
	WATCH_MODULES,       /* the dynamic linker has changed what is loaded */
	WATCH_SHAPES,
};

/* The cookie of a probe: its shape, and above it the number of the function's name. */
#define WATCH_COOKIE(shape, function) ((__u64)(shape) | (__u64)(function) << 8)

/* Frames of a stack that are kept, the innermost ones. */
#define WATCH_FRAMES_MOST 127
/* Steps of a binary search: there are at most 2^this rows. */
#define WATCH_SEARCH_STEPS 21

/* Return addresses of which it is kept where their rows are: 2^this. */
#define WATCH_HINT_BITS 16

enum watch_site_flags {
	WATCH_INCOMPLETE = 1, /* the walk ended before the outermost frame */
	WATCH_CUT = 2,        /* there are more frames than are kept */
	WATCH_GUESSED = 4,    /* some step was by frame pointer, in code without unwind tables */
	WATCH_OVERFLOW = 8,   /* stands for all sites that found no room */
};

/* A stack and a function, with what was allocated there. Never removed. */
struct watch_site {
	__u64 allocs, frees;              /* of blocks that were seen (all, or samples) */
	__u64 alloc_bytes, freed_bytes;   /* estimated, if sampled */
	__u64 alloc_weight, freed_weight; /* estimated blocks, in 1 / WATCH_WEIGHT_ONE; 0: exact */
	__u32 function, flags, frames;
	__u32 reserved;
	__u64 pcs[WATCH_FRAMES_MOST + 1]; /* innermost first; return addresses */
};

#define WATCH_WEIGHT_BITS 16
#define WATCH_WEIGHT_ONE (1ull << WATCH_WEIGHT_BITS)

/* A live block. The key is its address. */
struct watch_block {
	__u64 size, site, time_ns;
};

/* A thread; only its own probes use it. The key is its number. */
struct watch_thread {
	__u64 stack_pointer; /* at the call that is under way; 0: none is */
	__u64 size, argument;
	__u64 cookie;
	__u64 old_address; /* that is resized; it is not in the map of blocks meanwhile */
	struct watch_block old;
	__u32 has_old, is_wanted;
	struct watch_site site; /* where stacks are walked into */
};

enum watch_row_cfa {
	WATCH_ROW_NONE,      /* no unwind information here */
	WATCH_ROW_RSP,       /* the caller's stack pointer is rsp + offset */
	WATCH_ROW_RBP,       /* rbp + offset */
	WATCH_ROW_RBP_DEREF, /* the word at rbp + offset */
	WATCH_ROW_SIGNAL,    /* a handler returns here: all registers are in the ucontext at rsp */
	WATCH_ROW_END,       /* the outermost frame */
	WATCH_ROW_UNKNOWN,   /* unwind information that a row can't say */
};

enum watch_row_rbp {
	WATCH_RBP_SAME,
	WATCH_RBP_AT_CFA, /* saved at CFA + offset */
	WATCH_RBP_AT_RBP, /* saved at rbp + offset */
};

/* How to step over frames whose code is from `pc` to the next row's. The return address is at
 * CFA - 8. */
struct watch_row {
	__u64 pc;
	__s32 cfa_offset;
	__s16 rbp_offset;
	__u8 cfa, rbp;
};
_Static_assert(sizeof(struct watch_row) == 16, "four to a cache line");

/* Which rows are in force: written in one piece. */
#define WATCH_TABLE(first, count) ((__u64)(first) << 32 | (__u64)(count))

enum watch_sampling {
	WATCH_ALL,
	WATCH_BY_BYTES, /* after an exponential distance of mean_bytes */
	WATCH_EVERY,    /* one of `every` allocations, by chance */
};

/* Which calls are events, beside those of mappings. */
enum watch_emission {
	WATCH_EMITS_NONE,
	WATCH_EMITS_NEWS,  /* each allocation and free, when it is over */
	WATCH_EMITS_CALLS, /* those, and that a realloc begins, and those that failed: in the order
			      in which an address is given back and given out again */
};

struct watch_config {
	__u64 mean_bytes;
	__u64 min_size, max_size; /* of blocks that count, both inclusive */
	__u64 throws_most;        /* larger requests of WATCH_SIZE_THROWS are left alone */
	__u32 sampling, every;
	__u32 emits_all; /* enum watch_emission */
	__u32 has_session;
	__u32 process; /* of `watch --growth`: its number in the first PID namespace; 0: the first
			  that has a page fault */
	__u32 is_over; /* calls that begin from now on are left alone */
};

/* What a site of `watch --growth` did, in the place of its function. */
enum growth_kind {
	GROWTH_TOUCH,      /* touched pages, whose values are in the map of blocks */
	GROWTH_TOUCH_CALL, /* some system call touched them, of which the stack is not known */
	GROWTH_BRK,
	GROWTH_MMAP,
	GROWTH_MUNMAP,
	GROWTH_MREMAP,
	GROWTH_MADVISE, /* gave pages back: MADV_DONTNEED, MADV_FREE */
	GROWTH_KINDS,
};

/* What the events of the kernel's allocators (kmem.bpf.c) are about. */
enum kmem_kind {
	KMEM_OBJECT, /* by address */
	KMEM_PAGES,  /* by number of the first page; the size is an order */
	KMEM_PERCPU, /* by address in each processor's memory */
};

/* The cookie of such an event's link: what it is about, the number of its name, and where its
 * record has the address and the size. */
#define KMEM_COOKIE(kind, is_free, function, address_at, size_at)                                  \
	((__u64)(kind) | (__u64)(is_free) << 7 | (__u64)(function) << 8 |                          \
		(__u64)(address_at) << 16 | (__u64)(size_at) << 32)
#define KMEM_COOKIE_KIND(cookie) ((__u32)(cookie)&0x7f)
#define KMEM_COOKIE_IS_FREE(cookie) ((cookie) >> 7 & 1)
#define KMEM_COOKIE_FUNCTION(cookie) ((__u32)((cookie) >> 8) & 0xff)
#define KMEM_COOKIE_ADDRESS(cookie) ((cookie) >> 16 & 0xffff)
#define KMEM_COOKIE_SIZE(cookie) ((cookie) >> 32 & 0xffff)

/* Keys in the map of blocks: bits 62 and 63 of an address are as bit 61 is, so they can say what it
 * is an address of. Objects are above the half of addresses, so that theirs are as they are. */
#define KMEM_KEY_BITS 62
#define KMEM_KEY(kind, address)                                                                    \
	((kind) == KMEM_OBJECT ? (__u64)(address)                                                  \
			       : ((__u64)(address) & ((1ull << KMEM_KEY_BITS) - 1)) |              \
					 (__u64)((kind) == KMEM_PAGES) << KMEM_KEY_BITS)

/* The distances that are drawn from: -ln of a number between 0 and 1, in 1 / 65536. */
#define WATCH_LOGS 4096
/* Weights of blocks of (size + 1) / mean_bytes = index / 64. */
#define WATCH_WEIGHTS 1024
#define WATCH_WEIGHT_STEP 64

enum watch_count {
	WATCH_COUNT_BLOCKS_FULL,  /* allocations that found no room in the map of blocks */
	WATCH_COUNT_SITES_FULL,   /* allocations whose site found none */
	WATCH_COUNT_THREADS_FULL, /* calls by threads that found none */
	WATCH_COUNT_EVENTS_LOST,  /* events that found none in the ring */
	WATCH_COUNT_FAILED,       /* allocations that failed */
	WATCH_COUNT_UNKNOWN,      /* frees of blocks that are not in the map */
	WATCH_COUNT_THROWS,       /* calls left alone, because they might throw */
	WATCH_COUNT_REPLACED,     /* blocks whose free was not seen: the address came again */
	WATCH_COUNT_RESIZE_LOST,  /* sampled blocks whose realloc failed, with WATCH_EMITS_CALLS */
	WATCH_COUNTS,
};

enum watch_event_kind {
	WATCH_EVENT_MAP,
	WATCH_EVENT_UNMAP,
	WATCH_EVENT_REMAP,
	WATCH_EVENT_MODULES, /* the command is woken up for it */
	WATCH_EVENT_ALLOC,
	WATCH_EVENT_FREE,
	/* With WATCH_EMITS_CALLS: a realloc of the block at `address` begins. What came of it says
	 * the thread's next allocation, free or failure. */
	WATCH_EVENT_RESIZE,
	WATCH_EVENT_FAILED, /* a call for `size` bytes; old_address: of the block to be resized */
};

struct watch_event {
	__u16 kind;
	__u16 function; /* number of its name; of allocations, frees and failures */
	__u32 thread;
	__u64 time_ns, address, size;
	__u64 site;        /* of maps, remaps, allocations and failures; of frees the block's */
	__u64 old_address; /* of remaps; with WATCH_EMITS_CALLS of allocations that resize */
	__u64 old_size;    /* of remaps */
};

#endif
