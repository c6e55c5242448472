/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compilation units whose description was split off when they were compiled (-gsplit-dwarf): into a
 * .dwo file each, or all of a program's packed into one .dwp.
 *
 * A file is the right one if it has a unit with the number (dwo_id) that the program has for it.
 */
#ifndef SYMBOLS_SPLIT_H
#define SYMBOLS_SPLIT_H

#include "base/vec.h"
#include "symbols/settings.h"
#include "symbols/split/image.h"
#include "symbols/split/object.h"
#include "symbols/split/split_bases.h"

DEFINE_VEC(object_vec, struct object *)

/* A file that a unit was found in. */
struct split_file {
	char *path;
	uint64_t id; /* of the unit */
};

DEFINE_VEC(split_file_vec, struct split_file)

/* Where the units of one module are looked for. */
struct split_files {
	const struct symbols_settings *settings;
	const struct object *source; /* has the skeletons of the units */
	const char *module_path;     /* as recorded */
	struct object_vec packages;  /* .dwp files, opened when the first unit is looked for */
	bool has_packages;
	struct split_bases bases;
	struct split_file_vec used;
	unsigned found, missing; /* units that were looked for */
};

void split_files_init(struct split_files *files, const struct symbols_settings *settings,
	const struct object *source, const char *module_path);
void split_files_deinit(struct split_files *files);

/*
 * Finds the unit that a skeleton stands for; false: it was not found. *ret_image holds it, zeroed
 * by the caller before and deinited by it after.
 */
bool split_open(struct split_files *files, Dwarf_Die *skeleton, uint64_t id,
	struct image *ret_image, Dwarf_Die *ret);

#endif
