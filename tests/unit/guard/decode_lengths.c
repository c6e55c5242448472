/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long runtime/guard takes instructions to be: reads lines of hexadecimal bytes, more than the
 * instruction has, and writes for each its length, 0 for an unknown one, and "r" if it names memory
 * relative to rip, "d" if it jumps or calls by a displacement.
 */
#include <stdio.h>

#include "runtime/guard/decode.h"

static size_t read_bytes(const char *text, uint8_t bytes[DECODE_BYTES_MAX])
{
	size_t count = 0;
	unsigned byte;
	while (count < DECODE_BYTES_MAX && sscanf(text + 2 * count, "%2x", &byte) == 1)
		bytes[count++] = (uint8_t)byte;
	return count;
}

int main(void)
{
	char text[64];
	while (scanf("%63s", text) == 1) {
		uint8_t bytes[DECODE_BYTES_MAX];
		struct decode_shape shape = {.bytes = 0};
		(void)decode_find_shape(bytes, read_bytes(text, bytes), &shape);
		printf("%u%s%s\n", shape.bytes, shape.rip_at ? "r" : "",
			shape.displacement_at ? "d" : "");
	}
	return 0;
}
