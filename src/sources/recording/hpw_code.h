/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chunks of code that is in no loaded file: CODE, TRACED_LINES. */
#ifndef SOURCES_HPW_CODE_H
#define SOURCES_HPW_CODE_H

#include "base/map.h"
#include "model/build.h"
#include "sources/recording/hpw_file.h"

static inline bool hpw_code_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(hpw_code_map, uint64_t, uint32_t, hash_u64, hpw_code_equal)

/* Rows of a file → code of its model. A row whose chunk was lost is code that is not known. All 0:
 * none. */
struct hpw_code {
	struct hpw_code_map ids;
	uint32_t unknown; /* 0: none was needed yet */
};

/* Bit set of the columns that have a value a row; one that is missing is 0 in each. */
#define HPW_CODE_ROW_COLUMNS                                                                       \
	(1u << HPW_CODE_KIND | 1u << HPW_CODE_FIRST_LINE | 1u << HPW_CODE_LINES |                  \
		((1u << HPW_CODE_TEXTS) - 1) << HPW_CODE_LANGUAGE)

void hpw_code_deinit(struct hpw_code *code);

/* Adds the rows of a chunk; of a row that is there already the first one counts. */
struct error *hpw_code_decode(
	struct hpw_code *code, struct model *model, const struct hpw_payload *payload) must_check_;

/* Adds the rows of a TRACED_LINES chunk, to the *rows that there are. */
struct error *hpw_code_decode_traced(struct hpw_code *code, struct model *model,
	const struct hpw_payload *payload, size_t *rows) must_check_;

/* Finds the code of a row that a frame names; not 0. */
struct error *hpw_code_find(
	struct hpw_code *code, struct model *model, uint64_t row, uint32_t *ret) must_check_;

#endif
