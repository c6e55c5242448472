/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The image that `heapwise attach` maps into a process that already runs: code that never calls
 * libc, and behind it what the tool tells it. The tool maps the image, the shared memory of shm.h,
 * and private memory that fork() wipes, while all threads are stopped; nothing in the process runs
 * for it but those system calls.
 *
 * After the process has been let go the image stays, as functions that only pass on: the process
 * may have taken the address of one meanwhile. The next attachment uses it again.
 *
 * A forked child keeps the image and its parent's slots, but not `own`: its hooks see zeros there
 * and only pass on.
 */
#ifndef FORMAT_ATTACH_H
#define FORMAT_ATTACH_H

#include <stdint.h>

#define HW_ATTACH_MAGIC 0x3168636174746168ull /* "hattach1" */
#define HW_ATTACH_VERSION 4u

/* As the image is shown in the process's memory map: /memfd:heapwise-attach */
#define HW_ATTACH_NAME "heapwise-attach"

/* Functions that have a hook, in the order of the image's table. */
enum hw_attach_function {
	HW_ATTACH_MALLOC = 0,
	HW_ATTACH_CALLOC = 1,
	HW_ATTACH_REALLOC = 2,
	HW_ATTACH_REALLOCARRAY = 3,
	HW_ATTACH_FREE = 4,
	HW_ATTACH_POSIX_MEMALIGN = 5,
	HW_ATTACH_ALIGNED_ALLOC = 6,
	HW_ATTACH_MEMALIGN = 7,
	HW_ATTACH_VALLOC = 8,
	HW_ATTACH_PVALLOC = 9,
	HW_ATTACH_CFREE = 10,
	HW_ATTACH_FREE_SIZED = 11,
	HW_ATTACH_FREE_ALIGNED_SIZED = 12,
	HW_ATTACH_DLCLOSE = 13,
	/* C++'s operators. */
	HW_ATTACH_NEW = 14,
	HW_ATTACH_NEW_ARRAY = 15,
	HW_ATTACH_NEW_NOTHROW = 16,
	HW_ATTACH_NEW_ARRAY_NOTHROW = 17,
	HW_ATTACH_NEW_ALIGNED = 18,
	HW_ATTACH_NEW_ARRAY_ALIGNED = 19,
	HW_ATTACH_NEW_ALIGNED_NOTHROW = 20,
	HW_ATTACH_NEW_ARRAY_ALIGNED_NOTHROW = 21,
	HW_ATTACH_DELETE = 22,
	HW_ATTACH_DELETE_ARRAY = 23,
	HW_ATTACH_DELETE_SIZED = 24,
	HW_ATTACH_DELETE_ARRAY_SIZED = 25,
	HW_ATTACH_DELETE_NOTHROW = 26,
	HW_ATTACH_DELETE_ARRAY_NOTHROW = 27,
	HW_ATTACH_DELETE_ALIGNED = 28,
	HW_ATTACH_DELETE_ARRAY_ALIGNED = 29,
	HW_ATTACH_DELETE_SIZED_ALIGNED = 30,
	HW_ATTACH_DELETE_ARRAY_SIZED_ALIGNED = 31,
	HW_ATTACH_DELETE_ALIGNED_NOTHROW = 32,
	HW_ATTACH_DELETE_ARRAY_ALIGNED_NOTHROW = 33,
	/* For handlers that fork in the middle of an event. */
	HW_ATTACH_FORK = 34,
	HW_ATTACH_FORK_PLAIN = 35, /* _Fork */
	/* For libraries that are loaded later. */
	HW_ATTACH_DLOPEN = 36,
	HW_ATTACH_DLMOPEN = 37,
	HW_ATTACH_DLSYM = 38,
	HW_ATTACH_DLVSYM = 39,
	HW_ATTACH_FUNCTIONS = 40
};

/*
 * Functions of the executable that are changed themselves, as no word leads to them: their first
 * bytes become a jump to a hook.
 */
enum hw_attach_inline {
	HW_INLINE_MALLOC,
	HW_INLINE_CALLOC,
	HW_INLINE_REALLOC,
	HW_INLINE_REALLOCARRAY,
	HW_INLINE_FREE,
	HW_INLINE_CFREE,
	HW_INLINE_POSIX_MEMALIGN,
	HW_INLINE_ALIGNED_ALLOC,
	HW_INLINE_MEMALIGN,
	HW_INLINE_VALLOC,
	HW_INLINE_PVALLOC,
	HW_INLINE_FREE_SIZED,
	HW_INLINE_FREE_ALIGNED_SIZED,
	/* The same functions of another allocator, whose names have a prefix; not the last two. */
	HW_INLINE_OTHER,
	HW_INLINE_OTHER_LAST = HW_INLINE_OTHER + HW_INLINE_PVALLOC,
	/* jemalloc's, of either. */
	HW_INLINE_MALLOCX,
	HW_INLINE_RALLOCX,
	HW_INLINE_DALLOCX,
	HW_INLINE_SDALLOCX,
	/* mimalloc's, of either: what Rust's bindings call. */
	HW_INLINE_ZALLOC,
	HW_INLINE_MALLOC_ALIGNED,
	HW_INLINE_ZALLOC_ALIGNED,
	HW_INLINE_REALLOC_ALIGNED,
	/* The allocator's own operators: in the order of HW_ATTACH_NEW to
	   HW_ATTACH_DELETE_ARRAY_ALIGNED_NOTHROW. */
	HW_INLINE_NEW,
	HW_INLINE_DELETE = HW_INLINE_NEW + HW_ATTACH_DELETE - HW_ATTACH_NEW,
	HW_INLINE_FORK = HW_INLINE_NEW + HW_ATTACH_FORK - HW_ATTACH_NEW,
	HW_INLINE_FUNCTIONS
};
#define HW_ATTACH_JUMP_BYTES 5u
/* Room for what a jump has overwritten, and the way back. */
#define HW_ATTACH_STUB_BYTES 64u

/* A function that is changed. */
struct hw_attach_patch {
	uint64_t address;           /* of the jump; 0: none */
	uint8_t before[8], jump[8]; /* of which HW_ATTACH_JUMP_BYTES count */
};
/* Where signal handlers return to; more than one if several libcs are there. */
#define HW_ATTACH_RETURNS 4u

/* Whose operators new and delete the process has. */
enum hw_attach_operators {
	/* The C++ library's, which are malloc and free with other names: the hooks call those. */
	HW_ATTACH_OPERATORS_PLAIN = 0,
	/* The allocator's own: the hooks call the operators. */
	HW_ATTACH_OPERATORS_OWN = 1,
};

/* A word of a module that leads to one of these functions. */
struct hw_attach_slot {
	uint64_t address;
	uint64_t before; /* what it was, to be put back */
	uint64_t hook;   /* what it is */
};
#define HW_ATTACH_SLOTS_MAX 8192u
/* Part of the process's address space. */
struct hw_attach_range {
	uint64_t start, end;
};
#define HW_ATTACH_INNER_MAX 8u
/* As in shm.h: HW_RING_SHARED. */
#define HW_ATTACH_RINGS 512u

/* In the image, written by the tool. */
struct hw_attach {
	uint64_t magic;
	uint32_t version;
	uint32_t slot_count;
	/* What the hooks call: the process's own functions; 0: the process has no such function,
	 * and no slot leads to its hook. */
	uint64_t real[HW_ATTACH_FUNCTIONS];
	uint64_t operators;   /* enum hw_attach_operators */
	uint64_t memory;      /* where struct hw_attach_own is mapped; 0: nowhere */
	uint64_t own;         /* the same; 0: hooks only pass on */
	uint64_t samples;     /* the same if blocks are sampled, else 0 */
	uint64_t sampled;     /* the same if they are and there is no `inner`, else 0 */
	uint64_t find_object; /* _dl_find_object of glibc; 0: hw_attach_objects says */
	uint64_t program_headers, program_header_count, program_header_bytes; /* of the program */
	/* Where libc keeps a thread's id, from its thread pointer on; 0: not known. */
	uint64_t tid_offset;
	/* Code that calls functions with hooks in the middle of another one that has a hook, as
	 * musl's calloc does malloc: such calls are no events. */
	uint64_t inner_count;
	struct hw_attach_range inner[HW_ATTACH_INNER_MAX];
	/* Mapped for the image: from where to where, each, as the tool unmaps it. */
	uint64_t image, image_bytes, own_bytes, shared, shared_bytes;
	/* What the hooks of `patches` call: the functions as they were. 0: it is not changed. */
	uint64_t original[HW_INLINE_FUNCTIONS];
	uint64_t signal_returns[HW_ATTACH_RETURNS]; /* 0: no more */
	uint64_t tables, tables_bytes;              /* see hw_attach_object.tables; 0: none */
	/* 1: some of the functions have one address (tcmalloc's free and operators delete), so
	 * that it is not known by which name a block was asked for. */
	uint64_t plain_kinds;
	struct hw_attach_patch patches[HW_INLINE_FUNCTIONS];
	struct hw_attach_slot slots[HW_ATTACH_SLOTS_MAX];
};

/* Where the image has in its private memory what the tool looks at, once it has stopped the
 * process: a constant of the image. */
struct hw_attach_layout {
	uint64_t own_bytes; /* of that memory */
	/* Words, each so many bytes after the one before, that are not 0 while a thread of the
	 * process is in an event; and one more, for the shared ring. */
	uint64_t busy, busy_step, busy_count, busy_shared;
	/* Of the first of these words: the thread pointer of its thread (uint64_t; 0: of none), and
	 * that one's id (uint32_t), as many bytes apart. The shared ring's word is a thread
	 * pointer. */
	uint64_t busy_pointer, busy_tid;
	uint64_t objects; /* struct hw_attach_objects */
};

/* At the beginning of the private memory; the rest belongs to the image's code, and is zero at
 * first. */
struct hw_attach_own {
	/* 1: hooks record. The tool sets it when all is in its place; fork() wipes it. */
	uint32_t records;
	/* Grows when objects of hw_attach_objects become gone. */
	uint32_t unloaded;
	uint64_t shared;        /* where struct hw_shm is mapped */
	uint64_t closed;        /* the image's: how often libraries were closed */
	uint32_t unloaded_seen; /* the image's: `unloaded`, as it has taken note of it */
	uint32_t reserved;
	/* A thread that has loaded a library and is about to look up a function of it counts in
	 * `asked`, and waits until the tool has looked at all objects since, which sets `looked`
	 * (futex; the tool does not wake it). 1 in `unanswered`: the tool was waited for in vain.
	 */
	uint64_t asked, looked;
	uint32_t unanswered, reserved_too;
	/* The image's: private memory of rings' threads, of so many bytes each; 0: there is none.
	 */
	uint64_t ring_bytes;
	uint64_t ring_memory[HW_ATTACH_RINGS];
};

/*
 * The executable and the libraries, for processes whose dynamic linker can't be asked without a
 * lock (musl, glibc before 2.35). The tool adds rows, while all threads are stopped: one that is in
 * the middle of a search sees those that it has begun with. Nothing of a row changes later but
 * `gone`.
 */
struct hw_attach_object {
	uint64_t start, end; /* of all its parts */
	uint64_t bias;       /* address - bias = the ELF file's own address */
	uint64_t eh_frame_hdr;
	uint64_t eh_frame_word; /* the first 8 bytes there */
	uint64_t
		tables; /* where that is if it is none of its parts: the tool has made it; else 0 */
	uint64_t identity; /* its struct link_map */
	uint32_t path;     /* where it begins in `paths`; "": the program */
	uint32_t gone;     /* 1: not loaded any more; also set by the image */
};
#define HW_ATTACH_OBJECTS_MAX 4096u
#define HW_ATTACH_PATHS_MAX (1u << 19)

struct hw_attach_objects {
	uint32_t count;
	uint32_t path_bytes;
	struct hw_attach_object rows[HW_ATTACH_OBJECTS_MAX];
	char paths[HW_ATTACH_PATHS_MAX];
};

#endif
