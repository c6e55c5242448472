/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One program or library: its files, what was read of them, and a cache of what was asked, by
 * address: call stacks share most of their frames. Private to symbols.c.
 */
#ifndef SYMBOLS_MODULE_H
#define SYMBOLS_MODULE_H

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbols/names/inner_names.h"
#include "symbols/names/symbol_cache.h"
#include "symbols/names/symbol_table.h"
#include "symbols/split/debug_file.h"
#include "symbols/strings.h"
#include "symbols/symbols.h"
#include "symbols/types/unit_index.h"
#include "symbols/types/variables.h"

struct name_answer {
	const struct symbol *symbols;
	size_t count;
};

static inline bool address_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(answer_map, uint64_t, struct name_answer, hash_u64, address_equal)

struct symbols_file {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len;
	bool is_here; /* its path is one of this machine */
	enum symbols_state state;
	struct object *source; /* names come from it; NULL: none */
	struct debug_files files;
	struct symbol_cache known;
	size_t kept;             /* answers that come from there */
	bool is_found;           /* `files` are, though maybe nothing in them was read */
	bool is_read;            /* what follows here is there, which known names don't need */
	struct unit_index units; /* if state is SYMBOLS_DWARF */
	struct symbol_table table;
	bool has_table; /* it was read: only when a name is needed from it */
	struct symbol_table data_table, local_table; /* of variables, and of thread-local ones */
	bool has_data_table, has_local_table;
	struct variables variables;
	struct inner_names inner;
	bool has_inner;
	struct answer_map answers;
};

DEFINE_VEC(module_vec, struct symbols_file *)

struct symbols {
	struct strings strings;
	struct module_vec modules;
	const struct symbols_settings *settings; /* `own`, or the user's */
	struct symbols_settings *own;
	uint64_t recorded_ns; /* 0: unknown */
};

/* Opens nothing. Where none was recorded, build_id_len is 0. */
struct error *module_create(struct symbols *symbols, const char *path, const uint8_t *build_id,
	size_t build_id_len, struct symbols_file **ret) must_check_;
/* Destroys a module; NULL is allowed. */
void module_destroy(struct symbols_file *module);

/* Finds the module's files alone, unless that was done. */
void module_find(struct symbols *symbols, struct symbols_file *module);

/*
 * Finds the module's files, unless that was done. They are read only if no earlier command kept
 * names that were found in them.
 */
void module_open(struct symbols *symbols, struct symbols_file *module);

/* Reads them, unless that was done: from now on `units` and their like answer. */
void module_read(struct symbols *symbols, struct symbols_file *module);

/*
 * Keeps new answers for later commands, as far as they would be found again. true: something was
 * written.
 */
bool module_keep_names(struct symbols *symbols, struct symbols_file *module);

#endif
