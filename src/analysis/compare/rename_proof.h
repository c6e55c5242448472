/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a function may have become another one between two builds. Stacks do not tell: a function
 * that did not allocate is in no recording. So the files are asked. A renamed function's old name
 * is gone from the new build, and its new name was not in the old one; a function that moved to
 * another file is the only one of its name in both. What files do not tell is no proof.
 */
#ifndef ANALYSIS_RENAME_PROOF_H
#define ANALYSIS_RENAME_PROOF_H

#include "analysis/compare/frame_keys.h"

struct rename_proof;

/* `models`: the older and the newer one; they must outlive it. */
struct error *rename_proof_create(
	const struct model *const models[2], struct rename_proof **ret) must_check_;
void rename_proof_destroy(struct rename_proof *proof);

/* Finds out whether `older` of the older model may be `newer` of the newer one. */
struct error *rename_proof_find(struct rename_proof *proof, const struct identity *older,
	const struct identity *newer, bool *ret) must_check_;

#endif
