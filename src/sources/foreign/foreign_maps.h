/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part MAPPED_LIBRARIES of heap dumps, or "--- Memory map: ---" of older ones: /proc/PID/maps
 * as it was when the dump was written, or pprof's short form "START-END: FILE (@OFFSET) BUILD-ID"
 * (pprof, profile/legacy_profile.go). It comes last, after the addresses that it explains, so all
 * lines are kept; modules are made of those that an address lies in.
 */
#ifndef SOURCES_FOREIGN_MAPS_H
#define SOURCES_FOREIGN_MAPS_H

#include "sources/foreign/foreign.h"

#define FOREIGN_BUILD_ID_MAX 64u

struct foreign_mapping {
	uint64_t start, end, offset;
	struct foreign_text path;
	uint8_t build_id[FOREIGN_BUILD_ID_MAX];
	size_t build_id_len;
	bool code; /* it may be executed */
	size_t order;
	uint32_t module; /* 0: not yet */
};
DEFINE_VEC(foreign_mapping_vec, struct foreign_mapping)

/* "attr=value" stands for $attr in the lines after it. */
struct foreign_attribute {
	struct foreign_text name, value;
};
DEFINE_VEC(foreign_attribute_vec, struct foreign_attribute)

struct foreign_maps {
	struct foreign_mapping_vec mappings; /* of files alone */
	struct foreign_attribute_vec attributes;
	struct arena texts;
	bool any;     /* there is such a part */
	bool sorted;  /* by address */
	bool changed; /* a file is newer than the dump */
};

void foreign_maps_init(struct foreign_maps *maps);
void foreign_maps_deinit(struct foreign_maps *maps);

/* Returns whether the line begins the part with mappings. */
bool foreign_maps_begin(struct foreign_maps *maps, const char *line, size_t len);

/* Reads one line of the part. Lines that are no mapping of a file are ignored: writers put other
 * things there too.
 */
struct error *foreign_maps_line(
	struct foreign_maps *maps, const char *line, size_t len) must_check_;

/* Says which program it was: the first file that is mapped to be executed and has no name of a
 * library, as pprof guesses; else the first one. */
struct error *foreign_maps_program(struct foreign_maps *maps, struct foreign *foreign) must_check_;

/*
 * Finds the module that a return address is of; 0: none. A file that was changed after `input` was
 * written is reported as damage, once: names that are found in it may be wrong.
 */
struct error *foreign_maps_module(struct foreign_maps *maps, struct foreign *foreign,
	const struct input *input, uint64_t address, struct module_id *ret) must_check_;

#endif
