/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chunks BAD_FREES: invalid frees, as errors of the model. */
#ifndef SOURCES_HPW_BAD_FREES_H
#define SOURCES_HPW_BAD_FREES_H

#include "base/hash.h"
#include "base/map.h"
#include "model/build.h"
#include "sources/recording/hpw_file.h"

static inline bool hpw_bad_frees_same(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(hpw_bad_free_map, uint64_t, size_t, hash_u64, hpw_bad_frees_same)

struct hpw_bad_frees {
	struct model *model;          /* borrowed; has its stacks, sites and threads */
	struct hpw_bad_free_map rows; /* number of the error, by what equal ones have in common */
	size_t rows_read;
	uint64_t unknown; /* frees of addresses without a block that have become errors */
};

bool hpw_bad_frees_takes(uint16_t type);
/* ERROR_INPUT: nonsense; what came before it stays. */
struct error *hpw_bad_frees_decode(
	struct hpw_bad_frees *frees, const struct hpw_payload *payload) must_check_;
void hpw_bad_frees_deinit(struct hpw_bad_frees *frees);

#endif
