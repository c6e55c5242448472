/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a program that stands still, with its mappings, modules and threads: a core dump,
 * or a process that is held (or a copy of it). All of it is read here and nothing else is known of
 * where it comes from.
 *
 * A core leaves out what stands in files (core(5): coredump_filter): such memory is read from the
 * files, if they are the same ones, by build-id.
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
	ADDRESS_FILE_UNSOUGHT,   /* nobody looked for it */
	ADDRESS_FILE_SAME,       /* the file found has the module's build-id */
	ADDRESS_FILE_UNVERIFIED, /* nothing tells whether it is the same */
	ADDRESS_FILE_CHANGED,    /* another one is at its path */
	ADDRESS_FILE_MISSING,
};

#define ADDRESS_BUILD_ID_MAX 64u

/* An executable or shared object. */
struct address_module {
	const char *path;    /* as the program saw it; "" of one without a file */
	uint64_t start, end; /* of all that it has mapped, its .bss included */
	uint64_t bias;       /* address - bias = the ELF file's own address */
	uint64_t written; /* from here on memory is other than the file: data, relocated or not */
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

/* How a module's file is found: returns its path, which the caller frees, or NULL, and says why. */
struct address_files {
	void *context;
	char *(*find)(void *context, const struct address_module *module, enum address_file *ret);
};

struct address_thread {
	pid_t tid;
	int signal;   /* that it died of, or has got; 0: none */
	bool stopped; /* else its registers are not known */
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

/* Takes the core over. */
struct error *address_space_of_core(struct core_file *core, const struct address_files *files,
	struct address_space *ret) must_check_;

/*
 * Of a process that is stopped: `readable` is it, or a copy that was made of it (snapshot.h). The
 * process must stay as it is for as long as this is read, unless it is a copy.
 */
struct error *address_space_of_process(
	const struct stopped *stopped, pid_t readable, struct address_space *ret) must_check_;

/*
 * Of a process whose mappings, memory and threads the caller has read: `space` has them, is_live,
 * machine and owner.pid. Adds the modules and the auxiliary vector, as far as that can be read of
 * `readable`. All but `modules` stays the caller's: address_modules_deinit() ends the space.
 */
struct error *address_space_of_parts(pid_t readable, struct address_space *space) must_check_;

void address_space_close(struct address_space *space);

/* Reads at most `bytes` from address on; returns how many: fewer where nothing is known. Several
 * threads may do so. */
size_t address_space_read(
	const struct address_space *space, uint64_t address, void *ret, size_t bytes);

/* How many bytes from address on, at most `bytes`, were never written and are zero. 0: not one, or
 * nobody knows. */
size_t address_space_untouched(const struct address_space *space, uint64_t address, size_t bytes);

/* The same, or were left out of a core: reading them would only cost time. */
size_t address_space_empty(const struct address_space *space, uint64_t address, size_t bytes);

/*
 * From where on there may be something in [at, end): of cores what is empty is passed over, however
 * large it says it is, so that who goes through mappings takes as long as the file is large. Of
 * processes `at`. `end`: there is nothing.
 */
uint64_t address_space_next(const struct address_space *space, uint64_t at, uint64_t end);

/* How many bytes of [start, end) are mapped, and left out of a core or cut off. */
uint64_t address_space_absent(const struct address_space *space, uint64_t start, uint64_t end);

/* Whether a core has no thread's stack, though nothing is cut off: private memory was left out, and
 * with it all heaps. */
bool address_space_lacks_private(const struct address_space *space);

/* Where the mappings begin that follow each other without a gap up to an address. */
uint64_t address_space_joined_start(const struct address_space *space, uint64_t address);

/* A word; false: it can't be read. */
bool address_space_word(const struct address_space *space, uint64_t address, uint64_t *ret);

/* A string of at most room - 1 bytes; false: it can't be read, or does not end by then. */
bool address_space_string(
	const struct address_space *space, uint64_t address, char *ret, size_t room);

/* NULL: the address is in none. */
const struct address_module *address_space_module(
	const struct address_space *space, uint64_t address);
static inline const struct process_map *address_space_map(
	const struct address_space *space, uint64_t address)
{
	return process_maps_find(&space->maps, address);
}

/* Whether a mapping is memory of the program's own: private, writable, of no file. */
bool address_map_is_anonymous(const struct process_map *map);
/* The same, whatever may be done with it now. */
bool address_map_is_own(const struct process_map *map);

/* The number of registers of a machine's threads. */
static inline size_t address_register_count(uint16_t machine)
{
	return machine == 62 /* EM_X86_64 */ ? 27 : 34;
}

#endif
