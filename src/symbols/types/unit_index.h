/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an address to its compilation unit and function in DWARF (2 to 5, split too). */
#ifndef SYMBOLS_UNIT_INDEX_H
#define SYMBOLS_UNIT_INDEX_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbols/split/split.h"

struct die_range {
	uint64_t low, high;
	uint64_t reach; /* the highest `high` of this and all before it */
	Dwarf_Die die;
};

DEFINE_VEC(die_range_vec, struct die_range)

/* How much of a unit's functions is in its table. */
enum unit_depth { UNIT_UNREAD, UNIT_OUTER, UNIT_ALL };

struct unit {
	Dwarf_Die die;      /* where its functions and their files are described */
	Dwarf_Die skeleton; /* where its lines are; the same unless split */
	struct die_range_vec functions;
	enum unit_depth depth;
	struct image image; /* holds `die` if it was found by split_open() */
};

static inline bool unit_offset_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(unit_map, uint64_t, struct unit *, hash_u64, unit_offset_equal)

struct unit_index {
	Dwarf *dwarf; /* borrowed */
	Dwarf_Aranges *aranges;
	struct unit_map units;       /* by offset of the unit's DIE */
	struct die_range_vec ranges; /* of all units; filled when aranges do not know an address */
	bool scanned;
	struct split_files split;
};

/* `split` finds units that lie elsewhere; it becomes the index's. */
void unit_index_init(struct unit_index *index, Dwarf *dwarf, const struct split_files *split);
void unit_index_deinit(struct unit_index *index);

/* Finds the unit whose code holds the address; NULL in *ret: none. It belongs to the index. */
struct error *unit_index_find(
	struct unit_index *index, uint64_t address, struct unit **ret) must_check_;

/* Finds the DW_TAG_subprogram whose code holds the address; NULL in *ret: none. */
struct error *unit_function(struct unit *unit, uint64_t address, const Dwarf_Die **ret) must_check_;

/*
 * Calls `take` with the DIE that describes each unit, split ones where they lie; also those that
 * hold types alone, and what is shared with other files (dwz). False from it: no memory.
 */
struct error *unit_index_each(struct unit_index *index,
	bool (*take)(void *context, Dwarf_Die *unit), void *context) must_check_;

/*
 * Children of a DIE in order: `for (ok = die_child(&parent, &die); ok; ok = die_next(&die))`. Ends
 * where a damaged file would lead backwards.
 */
bool die_child(Dwarf_Die *parent, Dwarf_Die *ret);
bool die_next(Dwarf_Die *die);

#endif
