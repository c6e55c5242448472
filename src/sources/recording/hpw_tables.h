/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chunks that name things: TARGET, MODULES, CODE, STACKS, SITES, CODE_NAMES, NAMES; and
 * TRACED_LINES. Each decoder puts one chunk into the model; what an earlier, lost chunk would have
 * named is stood in for (a module without a path, the empty stack), so that the rest keeps its
 * figures.
 */
#ifndef SOURCES_HPW_TABLES_H
#define SOURCES_HPW_TABLES_H

#include <stdbool.h>

#include "model/build.h"
#include "sources/events/hpw_clock.h"
#include "sources/recording/hpw_code.h"
#include "sources/recording/hpw_file.h"

struct hpw_tables {
	struct model *model;    /* borrowed */
	uint64_t file_bytes;    /* a guess at how many stacks there are; 0: none */
	struct hpw_clock clock; /* tsc_start and hz, from TARGET */
	struct hpw_code code;
	bool has_target, has_code_names;
	size_t traced_lines;          /* rows so far */
	size_t sites;                 /* one more than the largest site */
	uint64_t sites_unknown_stack; /* sites whose stack is not known */
};

void hpw_tables_deinit(struct hpw_tables *tables);

/* Returns the kind of a recording in the model's words. A number of a newer writer is not known. */
enum alloc_kind hpw_tables_kind_of(uint8_t stored);

/* True if chunks of this type are decoded here. */
bool hpw_tables_has(uint16_t type);
struct error *hpw_tables_decode(
	struct hpw_tables *tables, uint16_t type, const struct hpw_payload *payload);

#endif
