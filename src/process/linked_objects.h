/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable and the libraries of a process that runs, as its dynamic linker has bound them to
 * each other: who defines a function, and which words of memory lead to it. All of it is read from
 * the process's memory and may be anything.
 *
 * System V gABI, chapter 5 (dynamic section, hash table); AMD64 ABI 1.0, section 4.4 (relocations);
 * struct r_debug and link_map as debuggers know them.
 */
#ifndef PROCESS_LINKED_OBJECTS_H
#define PROCESS_LINKED_OBJECTS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "process/maps.h"
#include "process/memory.h"

struct linked_object {
	uint64_t map;     /* address of its struct link_map */
	uint64_t bias;    /* address - bias = the ELF file's own address */
	uint64_t dynamic; /* its dynamic section */
	char *path;       /* as the linker has it; "" of the executable */
	/* Copies; NULL and 0: it has none. */
	Elf64_Sym *symbols;
	size_t symbol_count;
	char *strings; /* with a NUL behind */
	size_t string_bytes;
	Elf64_Rela *relocations; /* of data, then those of the PLT */
	size_t relocation_count;
	uint64_t code_start, code_end; /* its executable mappings, from the first to the last */
	bool is_linker;                /* the dynamic linker itself */
};
DEFINE_VEC(linked_object_vec, struct linked_object)

struct linked_objects {
	pid_t pid;
	struct process_maps maps;
	struct process_memory memory;
	struct linked_object_vec objects; /* in the order in which symbols are looked up */
	uint64_t debug;                   /* address of struct r_debug; 0: it is static */
	/* Objects in namespaces of their own (dlmopen, LD_AUDIT), which are not among these. Before
	 * glibc 2.35 they are not known: 0. */
	size_t apart;
	/* Of the auxiliary vector. */
	uint64_t program_headers, program_header_count;
};

/*
 * Reads the objects of a process. Of a statically linked program that is the program alone, without
 * symbols and references (debug: 0). ERROR_INPUT if there is no such process, ERROR_ENVIRONMENT if
 * its memory may not be read. Call linked_objects_deinit() in any case.
 */
struct error *linked_objects_read(pid_t pid, struct linked_objects *ret) must_check_;
void linked_objects_deinit(struct linked_objects *objects);

/* Returns the address of the function with this name that references from all objects lead to;
 * 0: no object defines one. *ret_object: which one does; may be NULL. */
uint64_t linked_function(const struct linked_objects *objects, const char *name,
	const struct linked_object **ret_object);

/* Returns where the function with this name that `object` defines begins and ends, by the size that
 * its symbol says; false: it defines none, or that says none. */
bool linked_function_range(const struct linked_object *object, const char *name,
	uint64_t *ret_start, uint64_t *ret_end);

/* Returns whether an object defines a function of this name. */
bool linked_defines(const struct linked_object *object, const char *name);

/* A word of memory that a reference from one object to a function is in. */
struct linked_slot {
	uint64_t address, value;
	size_t function; /* number of the name */
	bool is_lazy;    /* the reference has not been bound yet */
};
DEFINE_VEC(linked_slot_vec, struct linked_slot)

/*
 * Adds the words of an object that lead to the functions with these names, whose addresses are
 * `targets` (0: none). A word that holds anything else is added to `others`: the program has
 * changed it, or it was bound to another function of that name.
 */
struct error *linked_slots(const struct linked_objects *objects, const struct linked_object *object,
	const char *const *names, const uint64_t *targets, size_t count,
	struct linked_slot_vec *slots, struct linked_slot_vec *others) must_check_;

/* Returns a number that changes, as far as can be seen, when objects are loaded or unloaded; cheap.
 * 0: it can't be read. */
uint64_t linked_objects_state(const struct process_memory *memory, uint64_t debug);

#endif
