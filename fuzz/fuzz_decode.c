/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runtime/guard makes of instructions: any bytes, also cut off, in a block of exactly their
 * size. What it answers must be within its bounds.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/guard/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition)
{
	if (!condition)
		abort();
}

static void check_operand(const struct decode_operand *o)
{
	need(o->access && o->access <= (DECODE_READ | DECODE_WRITE));
	need(o->bytes && o->bytes <= 108);
	need(o->address || o->bytes <= 64);
}

static void decode_at(const uint8_t *data, size_t size)
{
	struct decode_registers r = {.rip = 1ull << 40};
	for (uint64_t n = 0; n < 16; n++)
		r.general[n] = (n * n * 0x123456789) ^ (uint64_t)data[0] << (4 * n);
	struct decoded d;
	if (!decode_instruction(data, size, &r, &d))
		return;
	need(d.count <= DECODE_OPERANDS);
	for (uint32_t k = 0; k < d.count; k++) {
		check_operand(&d.operands[k]);
		const struct decode_operand *o = decode_find_operand(&d, d.operands[k].address);
		need(o || !d.operands[k].address);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		size_t bytes = size - at < DECODE_BYTES_MAX ? size - at : DECODE_BYTES_MAX;
		for (size_t cut = 1; cut <= bytes; cut++) {
			uint8_t *copy = malloc(cut);
			if (!copy)
				return 0;
			memcpy(copy, data + at, cut);
			decode_at(copy, cut);
			free(copy);
		}
	}
	return 0;
}
