/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which data a function's code refers to, relative to its instruction pointer (x86-64). The code is
 * not decoded: bytes that look like such an instruction are taken for one, so that callers rely on
 * nothing that a single function has.
 */
#ifndef GO_REFERENCES_H
#define GO_REFERENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* What an instruction does with the 8 bytes. */
enum go_reference_kind {
	GO_REFERENCE_LOAD,    /* mov or cmp: reads them */
	GO_REFERENCE_ADDRESS, /* lea: takes their address */
};

DEFINE_VEC(go_reference_vec, uint64_t)

/* Adds the addresses of aligned words that `code`, which is at `address`, refers to in this way,
 * each once. Returns false if there is no memory. */
bool go_references_find(const uint8_t *code, size_t bytes, uint64_t address,
	enum go_reference_kind kind, struct go_reference_vec *ret);

/* Leaves in `among` those that are in `others` too. */
void go_references_common(struct go_reference_vec *among, const struct go_reference_vec *others);

#endif
