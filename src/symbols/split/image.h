/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small ELF file in memory that holds nothing but debug sections, so that libdw reads what lies
 * otherwise in files than it expects.
 */
#ifndef SYMBOLS_IMAGE_H
#define SYMBOLS_IMAGE_H

#include <elfutils/libdw.h>

#include "base/buf.h"

#define IMAGE_SECTIONS_MAX 8u

struct image_section {
	const char *name;
	size_t start, len; /* in `bytes` */
};

struct image {
	struct buf bytes;
	struct image_section sections[IMAGE_SECTIONS_MAX];
	unsigned count;
	Elf *elf;
	Dwarf *dwarf;
};

void image_init(struct image *image);
void image_deinit(struct image *image);

/* Begins a section, which goes on to where the next one begins. At most IMAGE_SECTIONS_MAX. */
void image_begin(struct image *image, const char *name);
void image_add(struct image *image, const char *name, const void *data, size_t len);

/* Writes headers, after the last section. NULL: libdw finds nothing in it, or no memory. */
Dwarf *image_dwarf(struct image *image);

#endif
