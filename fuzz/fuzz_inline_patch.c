/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose beginnings become jumps: any bytes, in a block of exactly their size. What is not
 * refused must be copied in whole instructions, within its bounds, and to the same places.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/attach/inline_patch.h"
#include "runtime/guard/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AT 0x400000ull
#define STUB_AT 0x500000ull
#define HOOK 0x600000ull

static void need(bool condition)
{
	if (!condition)
		abort();
}

/* Where an instruction at `at` leads, by what is relative in it; 0: nowhere. */
static uint64_t leads_to(const uint8_t *code, const struct decode_shape *shape, uint64_t at)
{
	int32_t wide;
	uint32_t from = shape->rip_at ? shape->rip_at : shape->displacement_at;
	if (!from)
		return 0;
	if (!shape->rip_at && shape->displacement_bytes == 1)
		wide = (int8_t)code[from];
	else
		memcpy(&wide, code + from, sizeof(wide));
	return at + shape->bytes + (uint64_t)(int64_t)wide;
}

static void check_copy(const uint8_t *code, const struct inline_patch *patch)
{
	uint32_t at = 0;
	struct decode_shape one, other = {.flow = DECODE_GOES_ON};
	for (uint32_t from = 0; from < patch->moved; from += one.bytes) {
		need(decode_find_shape(code + from, patch->moved - from, &one));
		need(decode_find_shape(patch->stub + at, patch->stub_bytes - at, &other));
		need(one.flow == other.flow && one.condition == other.condition);
		need(leads_to(code + from, &one, patch->address + from) ==
			leads_to(patch->stub + at, &other, STUB_AT + at));
		at += other.bytes;
	}
	if (at == patch->stub_bytes) {
		need(other.flow == DECODE_JUMP || other.flow == DECODE_ENDS);
		return;
	}
	need(decode_find_shape(patch->stub + at, patch->stub_bytes - at, &other));
	need(leads_to(patch->stub + at, &other, STUB_AT + at) == patch->address + patch->moved);
	need(at + other.bytes == patch->stub_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inline_patch patch;
	uint8_t *code = malloc(size ? size : 1);
	if (!code)
		return 0;
	memcpy(code, data, size);
	if (!inline_patch_examine(code, size, AT, &patch)) {
		size_t begin = (size_t)(patch.address - AT);
		need(begin + patch.moved <= size && patch.moved >= INLINE_JUMP_BYTES);
		if (inline_patch_make(code + begin, HOOK, STUB_AT, &patch)) {
			need(patch.stub_bytes <= sizeof(patch.stub) && patch.after[0] == 0xe9);
			check_copy(code + begin, &patch);
		}
	}
	free(code);
	return 0;
}
