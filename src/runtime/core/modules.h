/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment (lookups of an address seen for the first time); after dlclose
 * (rt_modules_review). May touch: the shared module table, mapped ELF headers of live modules,
 * dl_find_object through `find`.
 *
 * Which ELF file an address belongs to, and where its unwind table is. Modules are found lazily,
 * when an address in them first turns up on a stack, so dlopen needs no hook at all.
 */
#ifndef RUNTIME_MODULES_H
#define RUNTIME_MODULES_H

#include "format/shm.h"
#include "runtime/core/sys.h"

#include <stdint.h>

/* What the dynamic linker says about an address; see glibc dlfcn/dlfcn.h, struct dl_find_object. */
struct rt_found {
	uint64_t start, end;         /* mapped range */
	uint64_t bias;               /* l_addr */
	const char *path;            /* "" for the main program */
	const uint8_t *eh_frame_hdr; /* NULL: none */
	const void *identity;        /* link map */
	uint64_t tables; /* < start: where eh_frame_hdr is if it is not in the range; 0 */
};

/* Finds the loaded object of an address. Wait-free, async-signal-safe. Returns false if there is
 * none. */
typedef bool rt_find_fn(uint64_t address, struct rt_found *ret);

struct rt_module {
	uint64_t start, end;
	const uint8_t *eh_frame_hdr;
	uint64_t tables_start; /* from here on to the end there may be what eh_frame_hdr leads to */
	const void *identity;
	uint64_t path_hash;
	uint16_t id; /* in the shared table */
	bool gone;
};

struct rt_modules {
	struct hw_shm *shm;      /* its `modules` and `strings`: under lock */
	struct hw_module *table; /* shared; entries are added under lock */
	char *strings;           /* shared; grow under lock */
	rt_find_fn *find;
	struct rt_lock lock; /* leaf; held to add or retire a module */
	uint32_t generation; /* grows when a module goes: remembered stacks are void then */
	uint32_t count;      /* release: entries before it are complete */
	struct rt_module list[HW_MODULES_MAX];
};

/* Widens the range of the main program, as it was found, to that of all its parts: glibc gives one
 * part of a program that was mapped with gaps between them. `parts`: its program headers
 * (Elf64_Phdr), NULL: not known. */
void rt_found_whole(struct rt_found *found, const void *parts, uint64_t count);

/* Returns the module at an address, which is added if it is new. Returns NULL if there is none, the
 * table is full, or another thread adds one and does not finish in time. */
const struct rt_module *rt_modules_at(struct rt_modules *modules, uint64_t address);

/*
 * Retires each module that is not loaded any more; called after a dlclose. For each, `generation`
 * grows and then gone(context, start, end) is called.
 */
void rt_modules_review(struct rt_modules *modules,
	void (*gone)(void *context, uint64_t start, uint64_t end), void *context);

#endif
