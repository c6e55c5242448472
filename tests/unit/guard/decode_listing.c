/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runtime/guard makes of instructions: reads lines of an address and the instruction's bytes,
 * both hexadecimal, and writes for each its operands: access (r, w, rw), bytes ("+": at least),
 * address. "?": unknown. General register number n is (n + 1) << 32 | (n + 1) << 16.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/guard/decode.h"

static struct decode_registers registers_at(uint64_t rip)
{
	struct decode_registers r = {.rip = rip, .fs_base = 1ull << 44, .gs_base = 1ull << 45};
	for (uint64_t n = 0; n < 16; n++)
		r.general[n] = (n + 1) << 32 | (n + 1) << 16;
	return r;
}

static size_t read_bytes(const char *text, uint8_t bytes[DECODE_BYTES_MAX])
{
	size_t count = 0;
	unsigned byte;
	while (count < DECODE_BYTES_MAX && sscanf(text + 2 * count, "%2x", &byte) == 1)
		bytes[count++] = (uint8_t)byte;
	return count;
}

static void print_decoded(const struct decoded *d)
{
	static const char *const accesses[] = {"-", "r", "w", "rw"};
	for (uint32_t k = 0; k < d->count; k++) {
		const struct decode_operand *o = &d->operands[k];
		printf("%s%s%" PRIu32 "%s@%" PRIx64, k ? " " : "", accesses[o->access & 3],
			o->bytes, o->unsized ? "+" : "", o->address);
	}
	putchar('\n');
}

int main(void)
{
	uint64_t rip;
	char text[64];
	while (scanf("%" SCNx64 " %63s", &rip, text) == 2) {
		uint8_t bytes[DECODE_BYTES_MAX];
		struct decode_registers r = registers_at(rip);
		struct decoded d;
		if (decode_instruction(bytes, read_bytes(text, bytes), &r, &d))
			print_decoded(&d);
		else
			puts("?");
	}
	return 0;
}
