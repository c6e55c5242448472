/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of what lies in modules, and their files: those that a core leaves memory out of, and those
 * that symbols come from. A file is used if its build-id is the module's.
 */
#ifndef HEAP_NAMES_H
#define HEAP_NAMES_H

#include "base/arena.h"
#include "base/vec.h"
#include "process/address_space.h"
#include "process/mapped_file.h"
#include "symbols/symbols.h"
#include "symbols/types.h"

struct named_module {
	const char *path; /* as the program saw it */
	uint32_t symbols; /* its number there */
	bool is_reported; /* what its debug information lacks */
};
DEFINE_VEC(named_modules, struct named_module)

struct heap_names {
	struct symbols *symbols;
	struct types *types; /* NULL: not asked for */
	const char *exe;     /* to be used for the program's own file; NULL: none */
	struct named_modules modules;
	struct arena arena;
};

/* settings, exe: NULL if the user says nothing; both must outlive the names. */
struct error *heap_names_open(const struct symbols_settings *settings, const char *exe,
	struct heap_names *ret) must_check_;
void heap_names_close(struct heap_names *names);

/* Of a process that runs the files of its modules, wherever their paths lead by now; `readable` as
 * of address_space_of_process(). Calls back with those that are not at their paths. */
struct error *heap_names_live(struct heap_names *names, const struct address_space *space,
	pid_t readable,
	void (*listen)(
		void *ctx, const struct address_module *module, enum mapped_file_place where),
	void *ctx) must_check_;

/* For address_space_of_core(): finds modules' files. */
struct address_files heap_names_files(struct heap_names *names);

/* Returns the path on this machine of the file that is not what a module was. */
const char *heap_names_changed(struct heap_names *names, const struct address_module *module);

/* What an address is in a module. */
struct heap_place {
	const struct address_module *module; /* NULL: in none */
	const char *name;                    /* of the function or variable; NULL: unknown */
	uint64_t offset;                     /* in it; without a name: in the module */
	bool is_code;
};
/* The only errors are of memory. */
struct error *heap_names_place(struct heap_names *names, const struct address_space *space,
	uint64_t address, struct heap_place *ret) must_check_;

/* Finds the number of a module for symbols.h; false: it has none. */
bool heap_names_symbols(
	struct heap_names *names, const struct address_module *module, uint32_t *ret);

/* Finds the types of debug information; of no module yet. They belong to the names. */
struct error *heap_names_types(struct heap_names *names, struct types **ret) must_check_;

/* Of all modules. *ret_any: whether one of them has debug information. */
struct error *heap_names_all_types(struct heap_names *names, const struct address_space *space,
	struct types **ret, bool *ret_any) must_check_;

#endif
