/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A split unit copied to an image of its own, which libdw reads by itself. */
#ifndef SYMBOLS_SPLIT_IMAGE_H
#define SYMBOLS_SPLIT_IMAGE_H

#include "symbols/split/image.h"
#include "symbols/split/split.h"
#include "symbols/split/split_parts.h"

/* A unit that is looked for. */
struct split_wanted {
	struct split_files *files;
	Dwarf_Die *skeleton;
	uint64_t id;
	struct image *image; /* becomes the copy; deinited if there is none */
	Dwarf_Die *ret;
};

/* Copies a unit; false: it is damaged, or another one. */
bool split_image_make(const struct split_wanted *wanted, const struct split_parts *parts);

#endif
