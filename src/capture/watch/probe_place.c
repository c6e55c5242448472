/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/probe_place.h"

#include <stdbool.h>

#include "runtime/guard/decode.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

/* What an instruction writes that is not understood. */
#define ALL_REGISTERS 0xffffu

/* How an instruction says its operands. */
struct operands {
	uint8_t op;        /* the last byte of the opcode */
	bool is_two_byte;  /* it comes after 0f */
	uint32_t reg, rm;  /* registers of ModRM, one bit each; rm 0: it is memory */
	uint32_t numbered; /* the register that the opcode has in its low bits */
	uint8_t digit;     /* of an opcode that ModRM is part of */
};

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x64 || byte == 0x65 || byte == 0x2e || byte == 0x3e ||
	       byte == 0x26 || byte == 0x36;
}

static uint8_t byte_at(const uint8_t *code, size_t len, size_t at)
{
	return at < len ? code[at] : 0;
}

static struct operands operands_read(const uint8_t *code, size_t len)
{
	size_t at = 0;
	uint8_t rex = 0;
	/* f3 is part of endbr64; before other opcodes it repeats, and is not understood. */
	if (code[0] == 0xf3 && len >= 4 && code[1] == 0x0f && code[2] == 0x1e)
		at++;
	while (is_prefix(byte_at(code, len, at)))
		at++;
	if ((byte_at(code, len, at) & 0xf0) == 0x40)
		rex = code[at++];
	bool is_two_byte = byte_at(code, len, at) == 0x0f;
	at += is_two_byte;
	uint8_t op = byte_at(code, len, at), modrm = byte_at(code, len, at + 1);
	unsigned reg = (modrm >> 3 & 7) | (rex & 4) << 1, base = (rex & 1) << 3;
	return (struct operands){.op = op,
		.is_two_byte = is_two_byte,
		.reg = 1u << reg,
		.rm = modrm >> 6 == 3 ? 1u << ((modrm & 7) | base) : 0,
		.numbered = 1u << ((op & 7) | base),
		.digit = modrm >> 3 & 7};
}

/* Opcodes 00 to 3f: eight operations in six forms each; cmp writes nothing. */
static uint32_t written_by_arithmetic(const struct operands *o)
{
	uint8_t form = o->op & 7;
	if (form > 5)
		return ALL_REGISTERS;
	if (o->op >> 3 == 7)
		return 0;
	return form < 2 ? o->rm : form < 4 ? o->reg : 1u << RAX;
}

/* Opcodes after 0f. */
static uint32_t written_by_two_byte(const struct operands *o)
{
	switch (o->op) {
	case 0x1e: /* endbr64 */
	case 0x1f: /* long nops */
		return 0;
	case 0x40 ... 0x4f: /* cmov */
	case 0xaf:          /* imul */
	case 0xb6:          /* movzx, movsx */
	case 0xb7:
	case 0xbe:
	case 0xbf:
		return o->reg;
	case 0x90 ... 0x9f: /* set */
		return o->rm;
	default:
		return ALL_REGISTERS;
	}
}

static uint32_t written_by_one_byte(const struct operands *o)
{
	switch (o->op) {
	case 0x00 ... 0x3f:
		return written_by_arithmetic(o);
	case 0x63: /* movsxd */
	case 0x69: /* imul */
	case 0x6b:
	case 0x8a: /* mov */
	case 0x8b:
	case 0x8d: /* lea */
		return o->reg;
	case 0x80: /* arithmetic with an immediate */
	case 0x81:
	case 0x83:
		return o->digit == 7 ? 0 : o->rm;
	case 0x84: /* test */
	case 0x85:
	case 0xa8:
	case 0xa9:
		return 0;
	case 0x88: /* mov */
	case 0x89:
	case 0xc6:
	case 0xc7:
	case 0xc0: /* shifts */
	case 0xc1:
	case 0xd0 ... 0xd3:
		return o->rm;
	case 0xb8 ... 0xbf: /* mov of an immediate */
		return o->numbered;
	case 0xf6: /* test, not, neg, mul, div */
	case 0xf7:
		return o->digit < 2 ? 0 : o->digit < 4 ? o->rm : 1u << RAX | 1u << RDX;
	default:
		return ALL_REGISTERS;
	}
}

/* Registers that an instruction writes, one bit each. */
static uint32_t registers_written(const uint8_t *code, size_t len)
{
	const struct operands o = operands_read(code, len);
	return o.is_two_byte ? written_by_two_byte(&o) : written_by_one_byte(&o);
}

/* Returns whether the kernel emulates what begins here. */
static bool is_emulated(const uint8_t *code, size_t len)
{
	uint8_t first = code[0], second = len > 1 ? code[1] : 0;
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	size_t same = 0;
	while (same < sizeof(nop5) && same < len && code[same] == nop5[same])
		same++;
	return same == sizeof(nop5) || first == 0x90 || (first >= 0x50 && first <= 0x57) ||
	       (first == 0x41 && second >= 0x50 && second <= 0x57) || first == 0xe8 ||
	       first == 0xe9 || first == 0xeb || (first >= 0x70 && first <= 0x7f) ||
	       (first == 0x0f && second >= 0x80 && second <= 0x8f);
}

size_t probe_place_find(const uint8_t *code, size_t len, unsigned arguments)
{
	static const uint8_t order[] = {RDI, RSI, RDX, RCX};
	uint32_t kept = 1u << RSP | 1u << RBP;
	for (unsigned i = 0; i < arguments && i < sizeof(order); i++)
		kept |= 1u << order[i];
	size_t at = 0;
	while (at < len) {
		struct decode_shape shape;
		if (is_emulated(code + at, len - at))
			return at;
		if (!decode_find_shape(code + at, len - at, &shape) ||
			registers_written(code + at, shape.bytes) & kept)
			return 0;
		at += shape.bytes;
	}
	return 0;
}
