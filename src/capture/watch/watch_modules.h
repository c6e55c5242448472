/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that a watched process has mapped: which functions they have, and their unwind rows. */
#ifndef CAPTURE_WATCH_MODULES_H
#define CAPTURE_WATCH_MODULES_H

#include "capture/watch.h"
#include "capture/watch/unwind_rows.h"
#include "capture/watch/watched_functions.h"
#include "process/maps.h"

/* A file, read once however often it is mapped. */
struct watch_file {
	uint64_t inode;
	uint32_t device;
	char *path;
	char *open_path; /* NULL: at `path` */
	struct watch_row_vec rows;
	struct watched_places places;
	bool is_readable; /* a 64-bit ELF file */
	bool has_malloc, is_attached;
	uint8_t build_id[32];
	size_t build_id_len;
};
DEFINE_VEC(watch_file_vec, struct watch_file)

struct module_table {
	pid_t pid;
	struct watch_file_vec files;
	struct watch_modules modules; /* those that are gone, too: stacks may lead there */
	uint64_t state;               /* a hash of the executable mappings */
	uint64_t program_inode, program_start;
};

void module_table_init(struct module_table *table, pid_t pid);
void module_table_deinit(struct module_table *table);

/* Reads the mappings anew. *ret_changed: there are others than before; *ret_other_program: the
 * process executed another program. ERROR_INPUT: it has ended. */
struct error *module_table_refresh(
	struct module_table *table, bool *ret_changed, bool *ret_other_program) must_check_;

/* Adds the rows of all modules that are mapped, at their addresses, ascending. */
struct error *module_table_rows(
	const struct module_table *table, struct watch_row_vec *rows) must_check_;

/* Returns whether an address is in a function that allocates, or in a library that is nothing but
 * an allocator: a mapping that is made from there is the allocator's own. */
bool module_table_is_allocator(const struct module_table *table, uint64_t address, bool is_caller);

#endif
