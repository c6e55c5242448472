/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a program that does not run, with its mappings, modules and threads: of a core
 * dump, or of a stopped process or its snapshot. Callers don't need to know which of these it is.
 *
 * A core leaves out memory that files have (core(5): coredump_filter). Such memory is read from the
 * files, if their build-ids match.
 */
#ifndef PROCESS_ADDRESS_SPACE_H
#define PROCESS_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "process/core_file.h"
#include "process/maps.h"
#include "process/memory.h"
#include "process/stop.h"

enum address_file {
	ADDRESS_FILE_UNSOUGHT,   /* it was not looked for */
	ADDRESS_FILE_SAME,       /* the file found has the module's build-id */
	ADDRESS_FILE_UNVERIFIED, /* whether it is the same file is unknown */
	ADDRESS_FILE_CHANGED,    /* another file is at its path */
	ADDRESS_FILE_MISSING,
};

#define ADDRESS_BUILD_ID_MAX 64u
/* Linkers make one or two writable segments: what is protected once it is relocated, and the rest.
 */
#define ADDRESS_DATA_MAX 4u

/* An executable or shared object. */
struct address_module {
	const char *path;    /* as the program saw it; "" of one without a file */
	uint64_t start, end; /* of all its mappings, including .bss */
	uint64_t bias;       /* address - bias = the ELF file's own address */
	uint64_t written; /* from here on memory is other than the file: data, relocated or not */
	/* Where its writable segments begin (the first ADDRESS_DATA_MAX), in order; 0: no more.
	 * What their first page has before that is of the file, not the program's. Of further
	 * segments that part counts as data. */
	uint64_t data[ADDRESS_DATA_MAX];
	/* Of its thread-local memory (PT_TLS): bytes, where and how long that begins with is, as
	 * the ELF file has it, and how it is aligned. */
	uint64_t tls, tls_image, tls_image_bytes, tls_align;
	uint8_t build_id[ADDRESS_BUILD_ID_MAX];
	size_t build_id_len; /* 0: it has none, or none is known */
	bool executable;     /* the program itself */
	enum address_file file;
	int fd; /* of that file; -1: none */
};
DEFINE_VEC(address_modules, struct address_module)

/* How the caller finds a module's file: find() returns its path, which is freed by free(), or NULL,
 * and sets *ret. */
struct address_files {
	void *context;
	char *(*find)(void *context, const struct address_module *module, enum address_file *ret);
};

struct address_thread {
	pid_t tid;
	int signal;   /* that it died of or has received; 0: none */
	bool stopped; /* false: its registers are unknown */
	uint64_t registers[CORE_REGISTERS_MAX];
	uint64_t pc, sp, thread_pointer; /* of the registers */
};
DEFINE_VEC(address_threads, struct address_thread)

struct address_space {
	bool is_live;
	uint16_t machine;         /* EM_X86_64 or EM_AARCH64 */
	struct process_maps maps; /* ascending; of a core: its segments, with NT_FILE's names */
	struct address_modules modules; /* ascending */
	struct address_threads threads; /* the one that died comes first */
	struct core_auxv auxv;
	struct core_owner owner;
	struct core_file core;        /* unless is_live */
	struct process_memory memory; /* if is_live */
};

/* Makes an address space of a core, which it takes over. `files` finds the files of modules. */
struct error *address_space_of_core(struct core_file *core, const struct address_files *files,
	struct address_space *ret) must_check_;

/*
 * Makes an address space of a stopped process. `readable` is the process whose memory is read: the
 * same one, or a snapshot of it (snapshot.h). Without a snapshot, the process has to stay stopped
 * as long as the address space is used.
 */
struct error *address_space_of_process(
	const struct stopped *stopped, pid_t readable, struct address_space *ret) must_check_;

/*
 * Completes an address space of a process whose mappings, memory and threads the caller has read
 * into `space`, with is_live, machine and owner.pid. Adds the modules, and the auxiliary vector if
 * it can be read from `readable`. All but `modules` stays the caller's, who ends the space by
 * address_modules_deinit().
 */
struct error *address_space_of_parts(pid_t readable, struct address_space *space) must_check_;

void address_space_close(struct address_space *space);

/* Reads up to `bytes` bytes at `address`; returns how many were read, fewer if the rest is unknown.
 * Several threads may call it at a time. */
size_t address_space_read(
	const struct address_space *space, uint64_t address, void *ret, size_t bytes);

/* Returns how many bytes from `address` on, at most `bytes`, were never written and are zero; 0 if
 * none, or if that is unknown. */
size_t address_space_untouched(const struct address_space *space, uint64_t address, size_t bytes);

/* Returns how many bytes from `address` on, at most `bytes`, were never written or were left out of
 * a core, so that reading them is a waste of time. */
size_t address_space_empty(const struct address_space *space, uint64_t address, size_t bytes);

/*
 * Returns the first address in [at, end) from which there may be contents; `end` if there are none.
 * Of a core empty parts are skipped, however large they are, so that a walk takes time in
 * proportion to the file's size. Of a process it returns `at`.
 */
uint64_t address_space_next(const struct address_space *space, uint64_t at, uint64_t end);

/* Returns how many bytes of [start, end) are mapped but left out of a core, or lost by truncation.
 */
uint64_t address_space_absent(const struct address_space *space, uint64_t start, uint64_t end);

/* Returns whether a core that is not truncated has no thread's stack: private memory was left out,
 * and all heaps with it. */
bool address_space_lacks_private(const struct address_space *space);

/* Returns where the mappings begin that are adjacent to each other up to an address. */
uint64_t address_space_joined_start(const struct address_space *space, uint64_t address);

/* Reads the 8 bytes at `address`. Returns false if they can't be read. */
bool address_space_word(const struct address_space *space, uint64_t address, uint64_t *ret);

/* Reads a string of at most `room` - 1 bytes. Returns false if it can't be read or is longer. */
bool address_space_string(
	const struct address_space *space, uint64_t address, char *ret, size_t room);

/* Returns the module that an address lies in; NULL if there is none. */
const struct address_module *address_space_module(
	const struct address_space *space, uint64_t address);
static inline const struct process_map *address_space_map(
	const struct address_space *space, uint64_t address)
{
	return process_maps_find(&space->maps, address);
}

/* Returns whether a mapping is memory of the program itself: private, writable, of no file. */
bool address_map_is_anonymous(const struct process_map *map);
/* Returns whether a mapping is memory of the program itself, whatever its access rights are now. */
bool address_map_is_own(const struct process_map *map);

/* Returns the number of registers of a thread, by ELF machine. */
static inline size_t address_register_count(uint16_t machine)
{
	return machine == 62 /* EM_X86_64 */ ? 27 : 34;
}

#endif
