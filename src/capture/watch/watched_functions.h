/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that are probed: what they do with their arguments, and when they count. */
#ifndef CAPTURE_WATCHED_FUNCTIONS_H
#define CAPTURE_WATCHED_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/watch_maps.h"
#include "process/elf_file.h"

enum watched_where {
	/* Where malloc is defined. So operators new and delete of a library that only calls malloc
	 * are not probed. */
	WATCHED_ALLOCATOR,
	WATCHED_LIBC,   /* mappings: where mmap is */
	WATCHED_LINKER, /* anywhere: the dynamic linker's */
};

struct watched_function {
	const char *name;  /* as the linker knows it */
	const char *shown; /* "operator new" */
	enum watch_shape shape;
	enum watched_where where;
};

extern const struct watched_function watched_functions[];
extern const unsigned watched_function_count;

/* A function of a file. */
struct watched_place {
	unsigned function;
	uint64_t offset;         /* of the probe in the file */
	uint64_t address, bytes; /* of the function, as linked */
};
DEFINE_VEC(watched_places, struct watched_place)

/*
 * Adds the functions of a file that are to be probed; a function of several names once. None if it
 * defines neither malloc nor mmap. *ret_allocator: it defines malloc.
 */
struct error *watched_places_find(const struct elf_file *file, struct watched_places *places,
	bool *ret_allocator) must_check_;

#endif
