/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that a model's modules were loaded from, as modules of symbols: each opened when a
 * stack first meets it.
 */
#ifndef ANALYSIS_LOADED_FILES_H
#define ANALYSIS_LOADED_FILES_H

#include "base/error.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "model/model.h"
#include "symbols/symbols.h"

/* A file is one module of symbols however often it was loaded. */
struct file_key {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len;
};

uint64_t file_key_hash(struct file_key key);
bool file_key_equal(struct file_key a, struct file_key b);

DEFINE_MAP(files_map, struct file_key, uint32_t, file_key_hash, file_key_equal)

/* A file in the order in which stacks met them. */
struct loaded_path {
	const char *path;
	uint32_t module;
	bool doubtful; /* loaded more than once, and without a build-id to tell whether it was it */
};

DEFINE_VEC(loaded_path_vec, struct loaded_path)

struct loaded_files {
	const struct model *model;
	struct symbols *symbols;
	struct loaded_files *beside; /* whose symbols and numbers these are; NULL: its own */
	struct files_map numbers;    /* module of symbols of each file */
	struct files_map files;      /* those that were met here */
	struct loaded_path_vec met;
	uint32_t *by_module; /* symbol module + 1 of each model module; 0: not yet */
};

#define NO_MODULE UINT32_MAX /* code without a file */

/* `model`, its model_names_from(), and `beside`, of the same model, must outlive it: what that has
 * read is not read again; NULL: none. Must be deinitialised also if this fails. */
struct error *loaded_files_init(struct loaded_files *files, const struct model *model,
	struct loaded_files *beside) must_check_;
void loaded_files_deinit(struct loaded_files *files);

/* Finds the module of symbols for a module of the model; NO_MODULE if it has no file. */
struct error *loaded_files_find(
	struct loaded_files *files, struct module_id id, uint32_t *ret_module) must_check_;

/* As resolver_notes(). */
void loaded_files_notes(const struct loaded_files *files, struct text *ret);

#endif
