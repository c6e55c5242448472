/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a process at one moment, mapping by mapping: what `pmap -x` shows. Looks come from
 * a running process (sources/live_look.h) or from a file (sources/look_file.h); which figures are
 * known depends on that.
 */
#ifndef MODEL_MEMORY_LOOK_H
#define MODEL_MEMORY_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

enum look_owner {
	LOOK_HEAP,  /* an arena of malloc: the program break, or mappings of glibc's arenas */
	LOOK_BLOCK, /* a block of malloc that has a mapping of its own */
	LOOK_THREAD_STACK, /* of a thread, or of one that has ended */
	LOOK_STACK,        /* of the first thread */
	LOOK_ANONYMOUS,    /* private memory without a file */
	LOOK_SHARED,       /* memory that processes share, without a file on a disk */
	LOOK_FILE,
	LOOK_DEVICE,
	LOOK_RESERVED, /* no access is allowed: guard pages, address space kept for later */
	LOOK_KERNEL,   /* [vdso] and the like */
	LOOK_OWNERS
};

/* Sizes in bytes, as of proc_pid_smaps(5). */
enum look_figure {
	LOOK_RSS,
	LOOK_PSS,
	LOOK_PRIVATE, /* Private_Clean and Private_Dirty: nobody else's */
	LOOK_DIRTY,   /* Private_Dirty and Shared_Dirty */
	LOOK_SWAPPED,
	LOOK_HUGE, /* in huge pages, transparent or of hugetlbfs (which Rss leaves out) */
	LOOK_FIGURES
};

struct look_mapping {
	uint64_t start, end, offset, inode; /* inode 0: none, or not known */
	uint32_t device;                    /* makedev() in 32 bits, 0: none, or not known */
	char flags[5];                      /* "rw-p" */
	enum look_owner owner;
	const char *name;  /* "[heap]", a file's path, or ""; lives as long as the look */
	const char *whose; /* "thread 12", or NULL: nothing more is known; likewise */
	uint64_t figures[LOOK_FIGURES];
	uint32_t known; /* bits 1u << enum look_figure */
};
DEFINE_VEC(look_mapping_vec, struct look_mapping)

/* Resident memory of a mapping that is on one NUMA node. */
struct look_node {
	uint64_t start; /* of the mapping */
	uint64_t bytes;
	unsigned node;
};
DEFINE_VEC(look_node_vec, struct look_node)

struct memory_look {
	struct look_mapping_vec mappings; /* ascending, without overlaps */
	struct arena words;               /* of names */
	char *text;                       /* names may point into it; owned */
	struct look_node_vec nodes;       /* ascending by `start` and `node` */
	bool nodes_known;                 /* `nodes` were read; else it is empty */
};

void memory_look_init(struct memory_look *look);
void memory_look_deinit(struct memory_look *look);

/* Whether a figure is known; then *ret is it. */
static inline bool look_figure(
	const struct look_mapping *mapping, enum look_figure figure, uint64_t *ret)
{
	if (!(mapping->known & 1u << figure))
		return false;
	*ret = mapping->figures[figure];
	return true;
}

static inline void look_set_figure(
	struct look_mapping *mapping, enum look_figure figure, uint64_t bytes)
{
	mapping->figures[figure] = bytes;
	mapping->known |= 1u << figure;
}

/* Returns a static string: "heap", "thread stack"…; also used in JSON. */
const char *look_owner_name(enum look_owner owner);

/* Finds out the owner from what every source knows: name, flags, inode. */
enum look_owner look_owner_of(const struct look_mapping *mapping);

/* Returns the mapping that an address lies in, or NULL. */
struct look_mapping *memory_look_find(const struct memory_look *look, uint64_t address);

#endif
