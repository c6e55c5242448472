/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many errors of each kind there were, in one process or several. */
#ifndef CLI_KIND_SUMS_H
#define CLI_KIND_SUMS_H

#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"
#include "model/model.h"

struct kind_sum {
	char *name; /* "InvalidRead"; "error" of errors without a kind; owned */
	uint64_t errors, times;
};
DEFINE_VEC(kind_sums, struct kind_sum)

/* Frees what kind_sums_add() has added. */
void kind_sums_free(struct kind_sums *sums);

/* Adds the errors of a model. The only error is lack of memory. */
struct error *kind_sums_add(struct kind_sums *sums, const struct model *model) must_check_;

/* Returns how often errors came, of all kinds. */
uint64_t kind_sums_times(const struct kind_sums *sums);

/* Adds the kinds with their numbers of errors: "2 InvalidRead, 1 InvalidFree". */
void kind_sums_text(const struct kind_sums *sums, struct text *out);

/*
 * Returns how often errors came that are in `all` and not in `left`, a part of them: those that
 * were taken out. *ret_kinds: of how many kinds.
 */
uint64_t kind_sums_missing(
	const struct kind_sums *all, const struct kind_sums *left, size_t *ret_kinds);

#endif
