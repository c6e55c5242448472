/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a few blocks are, without going through all others, where that is certain: the answer is the
 * same as if all had been. Once what is declared was followed as far as it brings news, all blocks
 * of settled classes are of their types, and what these point to is of the types that they declare.
 *
 * Two assumptions are made that only going through all blocks would verify: that members which are
 * passed over then, since they brought no news for thousands of blocks, bring none here, and that
 * no class becomes settled later by thousands of blocks of another type than the one found here.
 */
#ifndef HEAP_INFERRED_FEW_H
#define HEAP_INFERRED_FEW_H

#include "search/reverse.h"

/* Blocks whose types are wanted: those that a reverse of a few has. */
struct inferred_subset {
	const struct reverse *reverse; /* borrowed */
	bool is_complete;              /* all of them are known; of others nothing more was said */
};

struct inferring;
enum inferred_basis;

/* Before a round in which blocks are walked: says what they are if that is certain. */
void inferred_type_subset(
	struct inferring *inferring, struct inferred_subset *subset, enum inferred_basis basis);

#endif
