/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/inline_patch.h"

#include <string.h>

#include "runtime/guard/decode.h"

static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};

/* The displacement of a jump or an operand, and where it leads from the instruction's end on. */
static int64_t displacement_read(const uint8_t *at, uint32_t bytes)
{
	int32_t wide;
	if (bytes == 1)
		return (int8_t)*at;
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

/* Returns false if `to` is out of reach from behind the displacement, where `end` is. */
static bool displacement_write(uint8_t *at, uint64_t end, uint64_t to)
{
	int64_t distance = (int64_t)(to - end);
	int32_t narrow = (int32_t)distance;
	memcpy(at, &narrow, sizeof(narrow));
	return narrow == distance;
}

/* The instructions that the jump overwrites, from `at` on in the code. */
static const char *examine_moved(
	const uint8_t *code, size_t bytes, size_t at, struct inline_patch *ret)
{
	size_t begin = at;
	while (at - begin < INLINE_JUMP_BYTES) {
		struct decode_shape shape;
		if (at >= bytes)
			return "is shorter than a jump";
		if (code[at] == 0xcc)
			return "has a breakpoint or a probe at its beginning";
		if (!decode_find_shape(code + at, bytes - at, &shape))
			return "begins with an instruction that is not known";
		at += shape.bytes;
		if (shape.flow == DECODE_CALL)
			return "begins with a call, which would return into the middle of a jump";
		if (shape.flow == DECODE_LOOP)
			return "begins with a loop that can't be moved";
		bool ends = shape.flow == DECODE_JUMP || shape.flow == DECODE_ENDS;
		if (ends && at - begin < INLINE_JUMP_BYTES)
			return "is shorter than a jump";
	}
	ret->moved = (uint32_t)(at - begin);
	return NULL;
}

/* Whether code jumps to a place that the jump overwrites. */
static const char *examine_jumps(
	const uint8_t *code, size_t bytes, uint64_t address, const struct inline_patch *patch)
{
	for (size_t at = 0; at < bytes;) {
		struct decode_shape shape;
		if (!decode_find_shape(code + at, bytes - at, &shape))
			return "has an instruction that is not known";
		at += shape.bytes;
		if (!shape.displacement_at)
			continue;
		const uint8_t *displacement = code + at - shape.displacement_bytes;
		uint64_t to = address + at +
			      (uint64_t)displacement_read(displacement, shape.displacement_bytes);
		if (inline_patch_is_inside(patch, to))
			return "jumps back to one of its first instructions";
	}
	return NULL;
}

const char *inline_patch_examine(
	const uint8_t *code, size_t bytes, uint64_t address, struct inline_patch *ret)
{
	bool marked = bytes >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64));
	size_t begin = marked ? sizeof(endbr64) : 0;
	*ret = (struct inline_patch){.address = address + begin};
	const char *why = examine_moved(code, bytes, begin, ret);
	if (why)
		return why;
	memcpy(ret->before, code + begin, sizeof(ret->before));
	return examine_jumps(code, bytes, address, ret);
}

const char *inline_patch_examine_part(
	const uint8_t *code, size_t bytes, uint64_t address, const struct inline_patch *patch)
{
	return examine_jumps(code, bytes, address, patch);
}

/* A jump or a conditional one, in its long form. */
static bool move_jump(const struct decode_shape *shape, uint64_t to, uint64_t stub_at,
	uint8_t *stub, uint32_t *length)
{
	if (shape->flow == DECODE_JUMP_IF) {
		stub[(*length)++] = 0x0f;
		stub[(*length)++] = 0x80 | shape->condition;
	} else {
		stub[(*length)++] = 0xe9;
	}
	*length += 4;
	return displacement_write(stub + *length - 4, stub_at + *length, to);
}

/* One instruction that is `from` in the function: the same at the end of the stub. */
static bool move_instruction(const uint8_t *code, const struct decode_shape *shape, uint64_t from,
	uint64_t stub_at, struct inline_patch *patch)
{
	uint8_t *to = patch->stub + patch->stub_bytes;
	uint64_t end = from + shape->bytes;
	if (shape->displacement_at) {
		int64_t distance =
			displacement_read(code + shape->displacement_at, shape->displacement_bytes);
		return move_jump(
			shape, end + (uint64_t)distance, stub_at, patch->stub, &patch->stub_bytes);
	}
	memcpy(to, code, shape->bytes);
	patch->stub_bytes += shape->bytes;
	if (!shape->rip_at)
		return true;
	uint64_t named = end + (uint64_t)displacement_read(code + shape->rip_at, 4);
	return displacement_write(to + shape->rip_at, stub_at + patch->stub_bytes, named);
}

bool inline_patch_make(
	const uint8_t *code, uint64_t hook, uint64_t stub_at, struct inline_patch *patch)
{
	const struct decode_shape back = {.flow = DECODE_JUMP};
	struct decode_shape shape = {.flow = DECODE_GOES_ON};
	_Static_assert(HW_ATTACH_STUB_BYTES >= 4 * 6 + DECODE_BYTES_MAX + 5,
		"four short instructions in their long form, a long one, and the jump back");
	patch->after[0] = 0xe9;
	if (!displacement_write(patch->after + 1, patch->address + INLINE_JUMP_BYTES, hook))
		return false;
	patch->stub_bytes = 0;
	for (uint32_t at = 0; at < patch->moved; at += shape.bytes) {
		if (!decode_find_shape(code + at, patch->moved - at, &shape) ||
			!move_instruction(code + at, &shape, patch->address + at, stub_at, patch))
			return false;
	}
	if (shape.flow == DECODE_JUMP || shape.flow == DECODE_ENDS)
		return true;
	return move_jump(
		&back, patch->address + patch->moved, stub_at, patch->stub, &patch->stub_bytes);
}
