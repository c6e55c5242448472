/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The beginning of a function is replaced by a jump to its hook. What the jump overwrites is copied
 * to a stub, which goes on behind it: the stub is the function as it was. Nothing is executed or
 * written here: bytes are computed.
 *
 * Intel SDM, volume 2, chapter 2 and appendix A (instructions); AMD64 ABI 1.0, section 3.2.2.
 */
#ifndef CAPTURE_INLINE_PATCH_H
#define CAPTURE_INLINE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/attach.h"

/* Bytes of the jump, e9 and a displacement. */
#define INLINE_JUMP_BYTES HW_ATTACH_JUMP_BYTES

struct inline_patch {
	uint64_t address; /* of the jump: the function's, or behind its endbr64 */
	uint32_t moved;   /* whole instructions that the jump overwrites, in bytes */
	uint8_t before[INLINE_JUMP_BYTES], after[INLINE_JUMP_BYTES];
	uint8_t stub[HW_ATTACH_STUB_BYTES];
	uint32_t stub_bytes;
};

/*
 * Examines a function of `bytes` bytes at `address`, which are `code`: whether its beginning may be
 * replaced. Sets `address` and `moved` of *ret. Returns NULL if so, else why not: constant, what
 * the function does, for a sentence "NAME ...".
 */
const char *inline_patch_examine(
	const uint8_t *code, size_t bytes, uint64_t address, struct inline_patch *ret);

/* Returns why a part of the function that is elsewhere (NAME.cold) jumps into what is overwritten;
 * NULL: it does not. */
const char *inline_patch_examine_part(
	const uint8_t *code, size_t bytes, uint64_t address, const struct inline_patch *patch);

/*
 * Makes the jump to `hook` and the stub, which is to be at `stub_at`, of an examined function.
 * `code` is as it was. Returns false if they are too far away from the function, or from what its
 * first instructions name: 2 GiB.
 */
bool inline_patch_make(
	const uint8_t *code, uint64_t hook, uint64_t stub_at, struct inline_patch *patch);

/* Returns whether an address is that of an instruction that is overwritten, but not the first: a
 * thread that is there must not be let go on with the jump in place. */
static inline bool inline_patch_is_inside(const struct inline_patch *patch, uint64_t address)
{
	return address > patch->address && address - patch->address < INLINE_JUMP_BYTES;
}

#endif
