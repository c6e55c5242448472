/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MAPPINGS chunks: what the program has mapped and unmapped, and what that comes to. A mapping is
 * live until the last piece of it is gone; its pieces count as of the call that mapped them.
 */
#ifndef SOURCES_HPW_MAPPINGS_H
#define SOURCES_HPW_MAPPINGS_H

#include "base/vec.h"
#include "model/build.h"
#include "process/interval_map.h"
#include "sources/recording/hpw_file.h"

struct hpw_mapping_row {
	uint64_t stamp, start, bytes;
	uint32_t thread; /* index + 1; 0: none */
	uint32_t stack;
	uint32_t site;       /* set by hpw_mappings_put_sites() */
	uint8_t what, flags; /* enum hpw_mapping, enum hpw_mapping_flag */
};
DEFINE_VEC(hpw_mapping_rows, struct hpw_mapping_row)

struct hpw_mappings {
	struct hpw_mapping_rows rows; /* in the order of their stamps, or nearly */
};

void hpw_mappings_deinit(struct hpw_mappings *mappings);

bool hpw_mappings_takes(uint16_t type);
/* Decodes one chunk. */
struct error *hpw_mappings_decode(
	struct hpw_mappings *mappings, const struct hpw_payload *payload) must_check_;

/* Returns how many rows are not after a stamp. */
size_t hpw_mappings_until(const struct hpw_mappings *mappings, uint64_t stamp);

/* Returns whether a row maps something. */
static inline bool hpw_mapping_maps(const struct hpw_mapping_row *row)
{
	return row->what >= HPW_MAPPING_MMAP;
}

/* Which of the mappings count. */
enum hpw_mappings_which {
	HPW_MAPPINGS_ALL,
	HPW_MAPPINGS_NOT_ALLOCATORS, /* those without blocks in them */
};

/* Returns whether a row maps something of these. */
static inline bool hpw_mapping_counts(
	const struct hpw_mapping_row *row, enum hpw_mappings_which which)
{
	return hpw_mapping_maps(row) &&
	       !(which == HPW_MAPPINGS_NOT_ALLOCATORS && (row->flags & HPW_MAPPING_ALLOCATOR));
}

/* The state after some rows. */
struct hpw_mapped {
	const struct hpw_mappings *mappings; /* borrowed */
	enum hpw_mappings_which which;
	struct interval_map live;    /* owner: index of the row */
	uint64_t *left;              /* by row: bytes of it that are live */
	struct site_counters *sites; /* by site, from the first one of mappings on; NULL: none */
	uint32_t first_site;
	uint64_t *ends_of_thread; /* by thread: mappings whose last piece it unmapped; NULL */
	size_t threads;
	uint64_t live_mappings, live_bytes, allocator_bytes, ended;
	uint32_t current_thread; /* of the row that is being applied */
};

/* Begins with nothing mapped. hpw_mapped_deinit() in either case. */
struct error *hpw_mapped_init(struct hpw_mapped *mapped, const struct hpw_mappings *mappings,
	enum hpw_mappings_which which) must_check_;
void hpw_mapped_deinit(struct hpw_mapped *mapped);
/* Applies one row. *ret_bytes: what it maps, 0: nothing that counts. */
struct error *hpw_mapped_apply(
	struct hpw_mapped *mapped, size_t row, uint64_t *ret_bytes) must_check_;

#endif
