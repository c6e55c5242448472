/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "golang/impl/go_references.h"

#include <string.h>

/* REX.W, opcode, ModRM, displacement of 4 bytes. */
#define INSTRUCTION_BYTES 7u

static bool reference_fits(const uint8_t *code, enum go_reference_kind kind, size_t *ret_more)
{
	uint8_t opcode = code[1];
	*ret_more = 0;
	/* REX.W with any register; ModRM: relative to the instruction pointer. */
	if ((code[0] & 0xf8) != 0x48 || (code[2] & 0xc7) != 0x05)
		return false;
	if (kind == GO_REFERENCE_ADDRESS)
		return opcode == 0x8d;
	*ret_more = opcode == 0x83; /* cmp with a byte behind */
	return opcode == 0x8b || opcode == 0x3b || opcode == 0x39 ||
	       (opcode == 0x83 && (code[2] & 0x38) == 0x38);
}

static bool reference_has(const struct go_reference_vec *references, uint64_t address)
{
	for (size_t i = 0; i < references->len; i++)
		if (references->data[i] == address)
			return true;
	return false;
}

bool go_references_find(const uint8_t *code, size_t bytes, uint64_t address,
	enum go_reference_kind kind, struct go_reference_vec *ret)
{
	for (size_t at = 0; bytes >= INSTRUCTION_BYTES && at <= bytes - INSTRUCTION_BYTES; at++) {
		int32_t displacement;
		size_t more;
		if (!reference_fits(code + at, kind, &more))
			continue;
		memcpy(&displacement, code + at + 3, sizeof(displacement));
		uint64_t to =
			address + at + INSTRUCTION_BYTES + more + (uint64_t)(int64_t)displacement;
		if (to % 8 || reference_has(ret, to))
			continue;
		if (!go_reference_vec_push(ret, to))
			return false;
	}
	return true;
}

void go_references_common(struct go_reference_vec *among, const struct go_reference_vec *others)
{
	size_t kept = 0;
	for (size_t i = 0; i < among->len; i++)
		if (reference_has(others, among->data[i]))
			among->data[kept++] = among->data[i];
	among->len = kept;
}
