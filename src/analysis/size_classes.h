/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes of blocks, in classes: up to 1, 2, 4, 8… bytes. And those of two models side by side. */
#ifndef ANALYSIS_SIZE_CLASSES_H
#define ANALYSIS_SIZE_CLASSES_H

#include "analysis/metric.h"
#include "base/error.h"
#include "base/vec.h"
#include "model/model.h"

#define SIZE_CLASSES 65u

struct size_sums {
	uint64_t allocations, bytes;
};

struct size_classes {
	struct size_sums classes[SIZE_CLASSES];
	unsigned first, end; /* of those that have some */
	uint64_t highest;    /* of allocations */
};

/* Returns the largest size in a class. */
uint64_t size_class_most(unsigned class);

void size_classes_fill(const struct model *model, struct size_classes *ret);

/* A size in both: the older one's figures are `base`. */
struct size_change {
	uint64_t size;
	struct size_sums base, value;
};
DEFINE_VEC(size_change_vec, struct size_change)

struct size_changes {
	struct size_change_vec sizes; /* the largest change first, equals by size */
	struct size_classes base, value;
};

void size_changes_init(struct size_changes *changes);
void size_changes_deinit(struct size_changes *changes);

/*
 * Fills one that was initialised. sort: METRIC_ALLOCATED_BYTES, else allocations. normalize: the
 * older figures are scaled so that sums agree.
 */
struct error *size_changes_build(const struct model *older, const struct model *newer,
	enum metric sort, bool normalize, struct size_changes *ret) must_check_;

#endif
