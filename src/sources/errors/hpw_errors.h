/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chunks ERRORS and CHECK, of `heapwise check`: errors of the model, and what was looked at. */
#ifndef SOURCES_HPW_ERRORS_H
#define SOURCES_HPW_ERRORS_H

#include "base/hash.h"
#include "base/map.h"
#include "format/hpw.h"
#include "model/build.h"
#include "sources/recording/hpw_file.h"

static inline bool hpw_errors_same(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(hpw_errors_map, uint64_t, size_t, hash_u64, hpw_errors_same)

struct hpw_errors {
	struct model *model;        /* borrowed; has its stacks and threads */
	struct hpw_errors_map rows; /* number of the error, by what equal ones have in common */
	size_t rows_read;
	bool guarded; /* the library that looks for errors was there: it knows all invalid frees */
};

bool hpw_errors_takes(uint16_t type);
/* ERROR_INPUT: nonsense; what came before it stays. */
struct error *hpw_errors_decode(
	struct hpw_errors *errors, uint16_t type, const struct hpw_payload *payload) must_check_;
void hpw_errors_deinit(struct hpw_errors *errors);

#endif
