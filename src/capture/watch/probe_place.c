/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/probe_place.h"

#include <stdbool.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, NO_REGISTER = 16 };

/* An instruction that control flow passes through. */
struct passed {
	size_t len;
	uint32_t written; /* registers, one bit each */
};

struct instruction_reader {
	const uint8_t *code;
	size_t len, at;
	bool is_cut; /* it goes on after the end, or is not understood */
	bool has_operand_prefix;
	uint8_t rex;
};

static uint8_t byte_next(struct instruction_reader *r)
{
	if (r->at == r->len) {
		r->is_cut = true;
		return 0;
	}
	return r->code[r->at++];
}

static void bytes_skip(struct instruction_reader *r, size_t bytes)
{
	if (r->len - r->at < bytes)
		r->is_cut = true;
	else
		r->at += bytes;
}

static size_t immediate_bytes(const struct instruction_reader *r)
{
	return r->has_operand_prefix ? 2 : 4;
}

struct modrm {
	uint8_t reg, rm;
	uint8_t digit; /* reg without REX */
	bool is_memory;
};

static struct modrm modrm_read(struct instruction_reader *r)
{
	uint8_t byte = byte_next(r), mod = byte >> 6, rm = byte & 7;
	struct modrm ret = {.reg = (uint8_t)((byte >> 3 & 7) | (r->rex & 4) << 1),
		.rm = (uint8_t)(rm | (r->rex & 1) << 3),
		.digit = byte >> 3 & 7,
		.is_memory = mod != 3};
	if (mod == 3)
		return ret;
	if (rm == 4) {
		uint8_t sib = byte_next(r);
		if (mod == 0 && (sib & 7) == 5)
			bytes_skip(r, 4);
	} else if (mod == 0 && rm == 5) {
		bytes_skip(r, 4);
	}
	bytes_skip(r, mod == 1 ? 1 : mod == 2 ? 4 : 0);
	return ret;
}

static uint32_t rm_bit(const struct modrm *m)
{
	return m->is_memory ? 0 : 1u << m->rm;
}

/* Opcodes 00 to 3f: eight operations in six forms each; cmp writes nothing. */
static uint32_t read_arithmetic(struct instruction_reader *r, uint8_t op)
{
	uint8_t form = op & 7;
	bool is_cmp = op >> 3 == 7;
	uint32_t written = 1u << RAX;
	if (form < 4) {
		struct modrm m = modrm_read(r);
		written = form < 2 ? rm_bit(&m) : 1u << m.reg;
	} else if (form < 6) {
		bytes_skip(r, form == 4 ? 1 : immediate_bytes(r));
	} else {
		r->is_cut = true;
	}
	return is_cmp ? 0 : written;
}

/* f6 and f7: test, not, neg, mul, div. */
static uint32_t read_unary(struct instruction_reader *r, uint8_t op)
{
	struct modrm m = modrm_read(r);
	if (m.digit < 2) {
		bytes_skip(r, op == 0xf6 ? 1 : immediate_bytes(r));
		return 0;
	}
	return m.digit < 4 ? rm_bit(&m) : 1u << RAX | 1u << RDX;
}

/* Opcodes after 0f. */
static uint32_t read_two_byte(struct instruction_reader *r)
{
	uint8_t op = byte_next(r);
	struct modrm m;
	if (op == 0x1e || op == 0x1f) { /* endbr64, long nops */
		modrm_read(r);
		return 0;
	}
	if (op >= 0x40 && op <= 0x4f) { /* cmov */
		m = modrm_read(r);
		return 1u << m.reg;
	}
	if (op >= 0x90 && op <= 0x9f) { /* set */
		m = modrm_read(r);
		return rm_bit(&m);
	}
	if (op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf || op == 0xaf) {
		m = modrm_read(r); /* movzx, movsx, imul */
		return 1u << m.reg;
	}
	r->is_cut = true;
	return 0;
}

static uint32_t read_one_byte(struct instruction_reader *r, uint8_t op)
{
	struct modrm m;
	switch (op) {
	case 0x63: /* movsxd */
	case 0x8a:
	case 0x8b: /* mov */
	case 0x8d: /* lea */
		m = modrm_read(r);
		return 1u << m.reg;
	case 0x69: /* imul */
	case 0x6b:
		m = modrm_read(r);
		bytes_skip(r, op == 0x6b ? 1 : immediate_bytes(r));
		return 1u << m.reg;
	case 0x80: /* arithmetic with an immediate */
	case 0x81:
	case 0x83:
		m = modrm_read(r);
		bytes_skip(r, op == 0x81 ? immediate_bytes(r) : 1);
		return m.digit == 7 ? 0 : rm_bit(&m);
	case 0x84: /* test */
	case 0x85:
		modrm_read(r);
		return 0;
	case 0x88: /* mov */
	case 0x89:
		m = modrm_read(r);
		return rm_bit(&m);
	case 0xa8: /* test with an immediate */
		bytes_skip(r, 1);
		return 0;
	case 0xa9:
		bytes_skip(r, immediate_bytes(r));
		return 0;
	case 0xc0: /* shifts */
	case 0xc1:
		m = modrm_read(r);
		bytes_skip(r, 1);
		return rm_bit(&m);
	case 0xc6: /* mov of an immediate */
	case 0xc7:
		m = modrm_read(r);
		bytes_skip(r, op == 0xc6 ? 1 : immediate_bytes(r));
		return rm_bit(&m);
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		m = modrm_read(r);
		return rm_bit(&m);
	case 0xf6:
	case 0xf7:
		return read_unary(r, op);
	default:
		break;
	}
	if (op < 0x40)
		return read_arithmetic(r, op);
	if (op >= 0xb8 && op <= 0xbf) { /* mov of an immediate */
		bytes_skip(r, r->rex & 8 ? 8 : immediate_bytes(r));
		return 1u << ((op & 7) | (r->rex & 1) << 3);
	}
	r->is_cut = true;
	return 0;
}

static bool is_segment_prefix(uint8_t byte)
{
	return byte == 0x64 || byte == 0x65 || byte == 0x2e || byte == 0x3e || byte == 0x26 ||
	       byte == 0x36;
}

/* Returns false if the instruction is not understood. */
static bool instruction_pass(const uint8_t *code, size_t len, struct passed *ret)
{
	struct instruction_reader r = {.code = code, .len = len};
	uint8_t op = byte_next(&r);
	/* f3 is part of endbr64; before other opcodes it repeats, and is not understood. */
	if (op == 0xf3 && len >= 4 && code[1] == 0x0f && code[2] == 0x1e)
		op = byte_next(&r);
	while (op == 0x66 || is_segment_prefix(op)) {
		r.has_operand_prefix |= op == 0x66;
		op = byte_next(&r);
	}
	if ((op & 0xf0) == 0x40) {
		r.rex = op;
		op = byte_next(&r);
	}
	ret->written = op == 0x0f ? read_two_byte(&r) : read_one_byte(&r, op);
	ret->len = r.at;
	return !r.is_cut;
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
		struct passed passed;
		if (is_emulated(code + at, len - at))
			return at;
		if (!instruction_pass(code + at, len - at, &passed) || passed.written & kept)
			return 0;
		at += passed.len;
	}
	return 0;
}
