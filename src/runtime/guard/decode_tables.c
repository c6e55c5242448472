/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see decode.h. May touch: the same.
 *
 * What each opcode does to memory (Intel's manual, volume 2, appendix A, and the pages of the
 * instructions). Tables, and functions for opcodes that are several instructions.
 */
#include "runtime/guard/decode_impl.h"

#define ARITHMETIC(at, access)                                                                     \
	[at] = MODRM | (access) | W_1, [(at) + 1] = MODRM | (access) | W_V, [(at) + 2] = E_R(1),   \
	[(at) + 3] = E_R(V), [(at) + 4] = W_NONE | IMM_1, [(at) + 5] = W_NONE | IMM_Z

static const uint16_t one_byte[256] = {
	ARITHMETIC(0x00, RM),
	ARITHMETIC(0x08, RM),
	ARITHMETIC(0x10, RM),
	ARITHMETIC(0x18, RM),
	ARITHMETIC(0x20, RM),
	ARITHMETIC(0x28, RM),
	ARITHMETIC(0x30, RM),
	ARITHMETIC(0x38, R),
	[0x50 ... 0x57] = W_NONE | PUSH,
	[0x58 ... 0x5f] = W_NONE | POP,
	[0x63] = E_R(4),
	[0x68] = W_NONE | PUSH | IMM_Z,
	[0x69] = E_R(V) | IMM_Z,
	[0x6a] = W_NONE | PUSH | IMM_1,
	[0x6b] = E_R(V) | IMM_1,
	[0x6c ... 0x6f] = W_SPECIAL,
	[0x70 ... 0x7f] = W_NONE | IMM_1,
	[0x80] = E_RM(1) | IMM_1 | CMP7,
	[0x81] = E_RM(V) | IMM_Z | CMP7,
	[0x83] = E_RM(V) | IMM_1 | CMP7,
	[0x84] = E_R(1),
	[0x85] = E_R(V),
	[0x86] = E_RM(1),
	[0x87] = E_RM(V),
	[0x88] = E_M(1),
	[0x89] = E_M(V),
	[0x8a] = E_R(1),
	[0x8b] = E_R(V),
	[0x8c] = E_M(2),
	[0x8d] = E_NONE,
	[0x8e] = E_R(2),
	[0x8f] = MODRM | W_SPECIAL, /* pop, as wide as a push */
	[0x90 ... 0x99] = W_NONE,
	[0x9b] = W_NONE,
	[0x9c] = W_NONE | PUSH,
	[0x9d] = W_NONE | POP,
	[0x9e ... 0x9f] = W_NONE,
	[0xa0 ... 0xa7] = W_SPECIAL,
	[0xa8] = W_NONE | IMM_1,
	[0xa9] = W_NONE | IMM_Z,
	[0xaa ... 0xaf] = W_SPECIAL,
	[0xb0 ... 0xb7] = W_NONE | IMM_1,
	[0xb8 ... 0xbf] = W_NONE | IMM_V,
	[0xc0] = E_RM(1) | IMM_1,
	[0xc1] = E_RM(V) | IMM_1,
	[0xc2] = W_NONE | POP | IMM_2,
	[0xc3] = W_NONE | POP,
	[0xc6] = E_M(1) | IMM_1,
	[0xc7] = E_M(V) | IMM_Z,
	[0xc9] = W_SPECIAL,
	[0xcc] = W_NONE,
	[0xcd] = W_NONE | IMM_1,
	[0xd0] = E_RM(1),
	[0xd1] = E_RM(V),
	[0xd2] = E_RM(1),
	[0xd3] = E_RM(V),
	[0xd7] = W_SPECIAL,
	[0xd8 ... 0xdf] = MODRM | W_SPECIAL,
	[0xe0 ... 0xe7] = W_NONE | IMM_1,
	[0xe8] = W_NONE | PUSH | IMM_Z,
	[0xe9] = W_NONE | IMM_Z,
	[0xeb] = W_NONE | IMM_1,
	[0xec ... 0xef] = W_NONE,
	[0xf1] = W_NONE,
	[0xf4 ... 0xf5] = W_NONE,
	[0xf6] = E_RM(1) | IMM_F6 | UNARY,
	[0xf7] = E_RM(V) | IMM_F7 | UNARY,
	[0xf8 ... 0xfd] = W_NONE,
	[0xfe] = E_RM(1),
	[0xff] = MODRM | W_SPECIAL,
};

/* After 0F; those of vectors also in VEX and EVEX. */
static const uint16_t map_0f[256] = {
	[0x00] = MODRM | W_SPECIAL,
	[0x01] = MODRM | W_SPECIAL,
	[0x02 ... 0x03] = E_R(2),
	[0x05 ... 0x09] = W_NONE,
	[0x0b] = W_NONE,
	[0x0d] = E_NONE,
	[0x10] = E_R(SSE),
	[0x11] = E_M(SSE),
	[0x12] = MODRM | W_SPECIAL,
	[0x13] = E_M(8),
	[0x14 ... 0x15] = E_R(VEC),
	[0x16] = MODRM | W_SPECIAL,
	[0x17] = E_M(8),
	[0x18 ... 0x1f] = E_NONE, /* prefetches and hints: they never fault */
	[0x28] = E_R(VEC),
	[0x29] = E_M(VEC),
	[0x2a] = MODRM | W_SPECIAL,
	[0x2b] = E_M(SSE),
	[0x2c ... 0x2d] = MODRM | W_SPECIAL,
	[0x2e ... 0x2f] = MODRM | W_SPECIAL,
	[0x30 ... 0x33] = W_NONE,
	[0x40 ... 0x4f] = E_R(V),
	[0x50] = E_NONE,
	[0x51 ... 0x53] = E_R(SSE),
	[0x54 ... 0x57] = E_R(VEC),
	[0x58 ... 0x59] = E_R(SSE),
	[0x5a] = MODRM | W_SPECIAL,
	[0x5b] = E_R(VEC),
	[0x5c ... 0x5f] = E_R(SSE),
	[0x60 ... 0x62] = MODRM | W_SPECIAL,
	[0x63 ... 0x6d] = E_R(MMX),
	[0x6e] = E_R(Y),
	[0x6f] = MODRM | W_SPECIAL,
	[0x70] = MODRM | W_SPECIAL | IMM_1,
	[0x71 ... 0x73] = E_R(VEC) | IMM_1, /* of memory in EVEX alone */
	[0x74 ... 0x76] = E_R(MMX),
	[0x77] = W_NONE,
	[0x78 ... 0x79] = MODRM | W_SPECIAL,
	[0x7a ... 0x7b] = MODRM | W_SPECIAL,
	[0x7c ... 0x7d] = E_R(VEC),
	[0x7e] = MODRM | W_SPECIAL,
	[0x7f] = MODRM | W_SPECIAL,
	[0x80 ... 0x8f] = W_NONE | IMM_Z,
	[0x90 ... 0x9f] = E_M(1),
	[0xa0] = W_NONE | PUSH,
	[0xa1] = W_NONE | POP,
	[0xa2] = W_NONE,
	[0xa3] = MODRM | W_SPECIAL,
	[0xa4] = E_RM(V) | IMM_1,
	[0xa5] = E_RM(V),
	[0xa8] = W_NONE | PUSH,
	[0xa9] = W_NONE | POP,
	[0xab] = MODRM | W_SPECIAL,
	[0xac] = E_RM(V) | IMM_1,
	[0xad] = E_RM(V),
	[0xae] = MODRM | W_SPECIAL,
	[0xaf] = E_R(V),
	[0xb0] = E_RM(1),
	[0xb1] = E_RM(V),
	[0xb2] = E_R(FAR),
	[0xb3] = MODRM | W_SPECIAL,
	[0xb4 ... 0xb5] = E_R(FAR),
	[0xb6] = E_R(1),
	[0xb7] = E_R(2),
	[0xb8] = E_R(V),
	[0xba] = MODRM | W_SPECIAL | IMM_1,
	[0xbb] = MODRM | W_SPECIAL,
	[0xbc ... 0xbd] = E_R(V),
	[0xbe] = E_R(1),
	[0xbf] = E_R(2),
	[0xc0] = E_RM(1),
	[0xc1] = E_RM(V),
	[0xc2] = E_R(SSE) | IMM_1,
	[0xc3] = E_M(Y),
	[0xc4] = E_R(2) | IMM_1,
	[0xc5] = E_NONE | IMM_1,
	[0xc6] = E_R(VEC) | IMM_1,
	[0xc7] = MODRM | W_SPECIAL,
	[0xc8 ... 0xcf] = W_NONE,
	[0xd0] = E_R(VEC),
	[0xd1 ... 0xd3] = MODRM | W_SPECIAL,
	[0xd4 ... 0xd5] = E_R(MMX),
	[0xd6] = E_M(8),
	[0xd7] = E_NONE,
	[0xd8 ... 0xe0] = E_R(MMX),
	[0xe1 ... 0xe2] = MODRM | W_SPECIAL,
	[0xe3 ... 0xe5] = E_R(MMX),
	[0xe6] = MODRM | W_SPECIAL,
	[0xe7] = E_M(MMX),
	[0xe8 ... 0xef] = E_R(MMX),
	[0xf0] = E_R(VEC),
	[0xf1 ... 0xf3] = MODRM | W_SPECIAL,
	[0xf4 ... 0xf6] = E_R(MMX),
	[0xf7] = E_NONE, /* maskmovdqu: of memory that it does not name */
	[0xf8 ... 0xfe] = E_R(MMX),
};

/* After 0F 38. */
static const uint16_t map_0f38[256] = {
	[0x00 ... 0x0b] = E_R(MMX),
	[0x0c ... 0x0f] = E_R(VEC),
	[0x10] = MODRM | W_SPECIAL,
	[0x11 ... 0x12] = MODRM | W_SPECIAL,
	[0x13] = MODRM | W_SPECIAL,
	[0x14 ... 0x15] = MODRM | W_SPECIAL,
	[0x16 ... 0x17] = E_R(VEC),
	[0x18] = E_R(4),
	[0x19] = E_R(8),
	[0x1a] = E_R(16),
	[0x1b] = E_R(32),
	[0x1c ... 0x1e] = E_R(MMX),
	[0x1f] = E_R(VEC),
	[0x20 ... 0x25] = MODRM | W_SPECIAL,
	[0x26 ... 0x2b] = E_R(VEC),
	[0x2c ... 0x2d] = MODRM | W_SPECIAL,
	[0x2e ... 0x2f] = E_M(VEC),
	[0x30 ... 0x35] = MODRM | W_SPECIAL,
	[0x36 ... 0x41] = E_R(VEC),
	[0x42] = E_R(VEC),
	[0x43] = E_R(SCALAR),
	[0x44 ... 0x47] = E_R(VEC),
	[0x4c] = E_R(VEC),
	[0x4d] = E_R(SCALAR),
	[0x4e] = E_R(VEC),
	[0x4f] = E_R(SCALAR),
	[0x50 ... 0x55] = E_R(VEC),
	[0x58] = E_R(4),
	[0x59] = E_R(8),
	[0x5a] = E_R(16),
	[0x5b] = E_R(32),
	[0x62] = E_R(PACKED1),
	[0x63] = E_M(PACKED1),
	[0x64 ... 0x66] = E_R(VEC),
	[0x70 ... 0x73] = E_R(VEC),
	[0x75 ... 0x77] = E_R(VEC),
	[0x78] = E_R(1),
	[0x79] = E_R(2),
	[0x7a ... 0x7c] = E_NONE,
	[0x7d ... 0x7f] = E_R(VEC),
	[0x82] = E_R(16),
	[0x83] = E_R(VEC),
	[0x88 ... 0x89] = E_R(PACKED),
	[0x8a ... 0x8b] = E_M(PACKED),
	[0x8c] = E_R(VEC),
	[0x8d] = E_R(VEC),
	[0x8e] = E_M(VEC),
	[0x8f] = E_R(VEC),
	[0x90 ... 0x93] = E_R(LANES),
	[0x96 ... 0x98] = E_R(VEC),
	[0x99] = E_R(SCALAR),
	[0x9a] = E_R(VEC),
	[0x9b] = E_R(SCALAR),
	[0x9c] = E_R(VEC),
	[0x9d] = E_R(SCALAR),
	[0x9e] = E_R(VEC),
	[0x9f] = E_R(SCALAR),
	[0xa0 ... 0xa3] = E_M(LANES),
	[0xa6 ... 0xa8] = E_R(VEC),
	[0xa9] = E_R(SCALAR),
	[0xaa] = E_R(VEC),
	[0xab] = E_R(SCALAR),
	[0xac] = E_R(VEC),
	[0xad] = E_R(SCALAR),
	[0xae] = E_R(VEC),
	[0xaf] = E_R(SCALAR),
	[0xb4 ... 0xb8] = E_R(VEC),
	[0xb9] = E_R(SCALAR),
	[0xba] = E_R(VEC),
	[0xbb] = E_R(SCALAR),
	[0xbc] = E_R(VEC),
	[0xbd] = E_R(SCALAR),
	[0xbe] = E_R(VEC),
	[0xbf] = E_R(SCALAR),
	[0xc4] = E_R(VEC),
	[0xc6 ... 0xc7] = E_NONE, /* prefetches of several addresses */
	[0xc8] = E_R(VEC),
	[0xc9 ... 0xcb] = MODRM | W_SPECIAL,
	[0xcc] = E_R(VEC),
	[0xcd] = MODRM | W_SPECIAL,
	[0xcf] = E_R(VEC),
	[0xdb ... 0xdf] = E_R(VEC),
	[0xf0 ... 0xf1] = MODRM | W_SPECIAL,
	[0xf2 ... 0xf3] = E_R(Y),
	[0xf5] = MODRM | W_SPECIAL,
	[0xf6] = MODRM | W_SPECIAL,
	[0xf7] = E_R(Y),
	[0xf9] = E_M(Y),
};

/* After 0F 3A: all with a byte at the end. */
static const uint16_t map_0f3a[256] = {
	[0x00 ... 0x06] = E_R(VEC),
	[0x08 ... 0x09] = E_R(VEC),
	[0x0a] = E_R(4),
	[0x0b] = E_R(8),
	[0x0c ... 0x0e] = E_R(VEC),
	[0x0f] = E_R(MMX),
	[0x14] = E_M(1),
	[0x15] = E_M(2),
	[0x16] = E_M(Y),
	[0x17] = E_M(4),
	[0x18] = E_R(16),
	[0x19] = E_M(16),
	[0x1a] = E_R(32),
	[0x1b] = E_M(32),
	[0x1d] = E_M(HALF),
	[0x1e ... 0x1f] = E_R(VEC),
	[0x20] = E_R(1),
	[0x21] = E_R(4),
	[0x22] = E_R(Y),
	[0x23] = E_R(VEC),
	[0x25 ... 0x26] = E_R(VEC),
	[0x27] = E_R(SCALAR),
	[0x30 ... 0x33] = E_NONE,
	[0x38] = E_R(16),
	[0x39] = E_M(16),
	[0x3a] = E_R(32),
	[0x3b] = E_M(32),
	[0x3e ... 0x3f] = E_R(VEC),
	[0x40] = E_R(VEC),
	[0x41] = E_R(16),
	[0x42 ... 0x44] = E_R(VEC),
	[0x46] = E_R(VEC),
	[0x4a ... 0x4c] = E_R(VEC),
	[0x50] = E_R(VEC),
	[0x51] = E_R(SCALAR),
	[0x54] = E_R(VEC),
	[0x55] = E_R(SCALAR),
	[0x56] = E_R(VEC),
	[0x57] = E_R(SCALAR),
	[0x5c ... 0x5f] = E_R(VEC), /* FMA4, to 0x7f: packed, packed, single, double */
	[0x60 ... 0x63] = E_R(16),
	[0x68 ... 0x69] = E_R(VEC),
	[0x6a] = E_R(4),
	[0x6b] = E_R(8),
	[0x6c ... 0x6d] = E_R(VEC),
	[0x6e] = E_R(4),
	[0x6f] = E_R(8),
	[0x66] = E_R(VEC),
	[0x67] = E_R(SCALAR),
	[0x70 ... 0x73] = E_R(VEC),
	[0x78 ... 0x79] = E_R(VEC),
	[0x7a] = E_R(4),
	[0x7b] = E_R(8),
	[0x7c ... 0x7d] = E_R(VEC),
	[0x7e] = E_R(4),
	[0x7f] = E_R(8),
	[0xcc] = E_R(16),
	[0xce ... 0xcf] = E_R(VEC),
	[0xdf] = E_R(16),
	[0xf0] = E_R(Y),
};

/* Of x87, by the low three bits of the opcode and the form of its ModRM byte. */
static const uint16_t x87[8][8] = {
	{E_R(4), E_R(4), E_R(4), E_R(4), E_R(4), E_R(4), E_R(4), E_R(4)},
	{E_R(4), 0, E_M(4), E_M(4), E_R(28), E_R(2), E_M(28), E_M(2)},
	{E_R(4), E_R(4), E_R(4), E_R(4), E_R(4), E_R(4), E_R(4), E_R(4)},
	{E_R(4), E_M(4), E_M(4), E_M(4), 0, E_R(10), 0, E_M(10)},
	{E_R(8), E_R(8), E_R(8), E_R(8), E_R(8), E_R(8), E_R(8), E_R(8)},
	{E_R(8), E_M(8), E_M(8), E_M(8), E_R(108), 0, E_M(108), E_M(2)},
	{E_R(2), E_R(2), E_R(2), E_R(2), E_R(2), E_R(2), E_R(2), E_R(2)},
	{E_R(2), E_M(2), E_M(2), E_M(2), E_R(10), E_R(8), E_M(10), E_M(8)},
};

/* fxsave and kin; in VEX: ldmxcsr, stmxcsr. */
static const uint16_t group_ae[8] = {
	E_M(STATE), E_R(STATE), E_R(4), E_M(4), E_M(STATE), E_R(STATE), E_M(STATE), E_NONE};
static const uint16_t group_01[8] = {E_M(10), E_M(10), E_R(10), E_R(10), E_M(2), 0, E_R(2), E_NONE};
static const uint16_t group_00[8] = {E_M(2), E_M(2), E_R(2), E_R(2), E_R(2), E_R(2), 0, 0};
static const uint16_t group_ff[8] = {
	E_RM(V), E_RM(V), E_R(8) | PUSH, 0, E_R(8), 0, MODRM | R | W_SPECIAL | PUSH, 0};

static uint16_t special_one_byte(const struct instruction *i)
{
	if (i->opcode >= 0xd8 && i->opcode <= 0xdf)
		return has_memory(i) ? x87[i->opcode & 7][form_of(i)] : E_NONE;
	if (i->opcode == 0xff && form_of(i) == 6)
		return (stack_bytes(i) == 8 ? E_R(8) : E_R(2)) | PUSH;
	if (i->opcode == 0xff)
		return group_ff[form_of(i)];
	if (form_of(i)) /* 8F: pop, and AMD's XOP */
		return 0;
	return stack_bytes(i) == 8 ? E_M(8) | POP : E_M(2) | POP;
}

static uint16_t group_c7(const struct instruction *i)
{
	switch (form_of(i)) {
	case 1: /* cmpxchg8b, cmpxchg16b */
		return is_wide(i) ? E_RM(16) : E_RM(8);
	case 3:
		return E_R(STATE);
	case 4:
	case 5:
		return E_M(STATE);
	default: /* rdrand; of memory for virtual machines alone */
		return has_memory(i) ? 0 : E_NONE;
	}
}

/* kmov: 1, 2, 4, 8 bytes by W and prefix. */
static uint16_t width_of_mask(const struct instruction *i)
{
	if (is_wide(i))
		return i->prefix == 0x66 ? W_4 : W_8;
	return i->prefix == 0x66 ? W_1 : W_2;
}

/* Shifts of vectors by a count in memory: 16 bytes, whatever the vectors' length. */
static uint16_t shift_by_memory(const struct instruction *i)
{
	return i->is_vex || i->prefix == 0x66 ? E_R(16) : E_R(8);
}

/* Conversions to and from integers and doubles, whose width is not the other's. */
static uint16_t special_conversion(const struct instruction *i)
{
	bool scalar = i->prefix == 0xf2 || i->prefix == 0xf3;
	switch (i->opcode) {
	case 0x2a:
		return scalar ? E_R(Y) : E_R(8);
	case 0x2c:
	case 0x2d:
		return i->prefix == 0xf3 ? E_R(4) : i->prefix == 0x66 ? E_R(16) : E_R(8);
	case 0x2e:
	case 0x2f:
		return i->prefix == 0x66 ? E_R(8) : E_R(4);
	case 0x5a: /* from single to double, the half */
		return i->prefix ? E_R(SSE) : E_R(HALF);
	case 0x78:
	case 0x79:
	case 0x7b: /* EVEX: to unsigned, and quadwords from floats */
		if (i->opcode == 0x7b && scalar)
			return E_R(Y);
		if (scalar)
			return i->prefix == 0xf3 ? E_R(4) : E_R(8);
		return i->prefix == 0x66 && !is_wide(i) ? E_R(HALF) : E_R(VEC);
	case 0x7a:
		if (i->prefix == 0x66)
			return is_wide(i) ? E_R(VEC) : E_R(HALF);
		return i->prefix == 0xf3 && !is_wide(i) ? E_R(HALF) : E_R(VEC);
	default: /* E6 */
		return i->prefix == 0xf3 && !is_wide(i) ? E_R(HALF) : E_R(VEC);
	}
}

static uint16_t special_0f(const struct instruction *i)
{
	uint8_t o = i->opcode, p = i->prefix;
	switch (o) {
	case 0x00:
		return group_00[form_of(i)];
	case 0x01:
		return has_memory(i) ? group_01[form_of(i)] : E_NONE;
	case 0x12: /* movlps, movlpd, movddup, movsldup; their like */
		if (p == 0xf2)
			return i->vector_bytes == 16 ? E_R(8) : E_R(VEC);
		return p == 0xf3 ? E_R(VEC) : E_R(8);
	case 0x16:
		return p == 0xf3 ? E_R(VEC) : E_R(8);
	case 0x60 ... 0x62: /* punpckl of MMX reads half a register */
		return i->is_vex || p == 0x66 ? E_R(VEC) : E_R(4);
	case 0x6f:
		return p ? E_R(VEC) : E_R(8);
	case 0x7f:
		return p ? E_M(VEC) : E_M(8);
	case 0x70:
		return p || i->is_vex ? E_R(VEC) : E_R(8);
	case 0x7e:
		return p == 0xf3 ? E_R(8) : E_M(Y);
	case 0xa3: /* bt, bts, btr, btc */
		return E_R(V);
	case 0xab:
	case 0xb3:
	case 0xbb:
		return E_RM(V);
	case 0xba:
		return form_of(i) < 4 ? 0 : form_of(i) == 4 ? E_R(V) : E_RM(V);
	case 0xae:
		if (p == 0x66 && form_of(i) >= 6) /* clwb, clflushopt */
			return E_NONE;
		return has_memory(i) ? group_ae[form_of(i)] : E_NONE;
	case 0xc7:
		return group_c7(i);
	case 0xd1 ... 0xd3:
	case 0xe1 ... 0xe2:
	case 0xf1 ... 0xf3:
		return shift_by_memory(i);
	default:
		return special_conversion(i);
	}
}

/* pmovsx, pmovzx: as wide as what they make, over the ratio. */
static const uint8_t widening[6] = {W_HALF, W_QUARTER, W_EIGHTH, W_HALF, W_QUARTER, W_HALF};

static uint16_t special_0f38(const struct instruction *i)
{
	uint8_t o = i->opcode, p = i->prefix;
	if (p == 0xf3 && i->is_evex && (o & 0xcf) < 0x06) /* vpmov down: the converse */
		return MODRM | M | widening[o & 7];
	switch (o) {
	case 0x10: /* pblendvb; with EVEX a shift */
	case 0x11 ... 0x12:
	case 0x14 ... 0x15:
		return E_R(VEC);
	case 0x13: /* vcvtph2ps */
		return E_R(HALF);
	case 0x20 ... 0x25:
	case 0x30 ... 0x35:
		return MODRM | R | widening[o & 7];
	case 0x2c: /* vmaskmovps, vscalefps */
		return E_R(VEC);
	case 0x2d:
		return i->is_evex ? E_R(SCALAR) : E_R(VEC);
	case 0xc9 ... 0xcb: /* SHA; of EVEX approximations */
	case 0xcd:
		return !i->is_evex ? E_R(16) : o == 0xca ? E_R(VEC) : E_R(SCALAR);
	case 0xf0:
		return p == 0xf2 ? E_R(1) : E_R(V); /* crc32, movbe */
	case 0xf1:
		return p == 0xf2 ? E_R(V) : E_M(V);
	case 0xf5:
		return i->is_vex ? E_R(Y) : E_M(Y); /* bzhi, pdep, pext; wruss */
	default:                                    /* F6: adox, adcx, mulx; wrss */
		return i->is_vex || p ? E_R(Y) : E_M(Y);
	}
}

uint16_t decode_find_form(const struct instruction *i, uint16_t form)
{
	if ((form & WIDTH) == W_SPECIAL && form & MODRM) {
		uint16_t special = i->map == 0   ? special_one_byte(i)
				   : i->map == 1 ? special_0f(i)
						 : special_0f38(i);
		form = special ? special | (form & IMM) : 0;
	}
	if (form & CMP7 && form_of(i) == 7)
		form &= (uint16_t)~M;
	if (form & UNARY && form_of(i) != 2 && form_of(i) != 3)
		form &= (uint16_t)~M;
	if (i->is_vex && i->map == 1 && i->opcode >= 0x90 && i->opcode <= 0x93) /* kmov */
		form = MODRM | (i->opcode == 0x91 ? M : R) | width_of_mask(i);
	return form;
}

uint16_t decode_find_opcode(const struct instruction *i)
{
	switch (i->map) {
	case 0:
		return one_byte[i->opcode];
	case 1:
		return map_0f[i->opcode];
	case 2:
		return map_0f38[i->opcode];
	default:
		return map_0f3a[i->opcode] ? map_0f3a[i->opcode] | IMM_1 : 0;
	}
}
