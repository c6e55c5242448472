/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see decode.h. May touch: the same.
 *
 * A report wants three facts of an instruction, which a disassembler gives with a thousand others
 * and a megabyte of tables. Here each opcode has two bytes: how wide its memory operand is, whether
 * that is read or written, what follows it. Widths that depend on prefixes are classes of their own
 * (W_V, W_SSE, …). The few instructions whose memory is not the one that their ModRM byte names
 * (stacks, strings) are functions. Sources: Intel's manual, volume 2 (2.1 forms, 2.3 VEX, 2.7 EVEX,
 * appendix A opcode maps); what is not in it is unknown.
 */
#include "runtime/guard/decode_impl.h"

static uint8_t take_byte(struct instruction *i)
{
	if (i->at >= i->available) {
		i->is_short = true;
		return 0;
	}
	return i->bytes[i->at++];
}

static int64_t take_signed(struct instruction *i, uint32_t bytes)
{
	uint64_t value = 0;
	for (uint32_t k = 0; k < bytes; k++)
		value |= (uint64_t)take_byte(i) << (8 * k);
	uint32_t shift = 64 - 8 * bytes;
	return (int64_t)(value << shift) >> shift;
}

/* Takes legacy prefixes and REX; returns the byte after them. */
static uint8_t take_prefixes(struct instruction *i)
{
	for (;;) {
		uint8_t byte = take_byte(i), rex = 0;
		switch (byte) {
		case 0x66:
			i->small_operands = true;
			if (!i->prefix)
				i->prefix = byte;
			break;
		case 0x67:
			i->small_addresses = true;
			break;
		case 0xf2:
		case 0xf3: /* come before 66 where both are there */
			i->prefix = byte;
			break;
		case 0x64:
		case 0x65:
			i->segment = byte;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0:
			break;
		default:
			if ((byte & 0xf0) != 0x40 || i->is_short)
				return byte;
			rex = byte & 0xf;
		}
		i->rex = rex; /* 0 if another prefix came after it */
	}
}

static const uint8_t prefix_of_vex[4] = {0, 0x66, 0xf3, 0xf2};

/* C5, C4: their bits are inverted. */
static bool take_vex(struct instruction *i, uint8_t escape)
{
	uint8_t byte = take_byte(i);
	i->rex = byte & 0x80 ? 0 : REX_R;
	i->map = 1;
	if (escape == 0xc4) {
		i->rex = (uint8_t)(~byte >> 5 & 7);
		i->map = byte & 0x1f;
		byte = take_byte(i);
		i->rex |= byte & 0x80 ? REX_W : 0;
	}
	i->is_vex = true;
	i->vector_bytes = byte & 4 ? 32 : 16;
	i->prefix = prefix_of_vex[byte & 3];
	return i->map >= 1 && i->map <= 3;
}

static bool take_evex(struct instruction *i)
{
	uint8_t first = take_byte(i), second = take_byte(i), third = take_byte(i);
	if (!(second & 4))
		return false;
	i->rex = (uint8_t)((~first >> 5 & 7) | (second & 0x80 ? REX_W : 0));
	i->map = first & 7;
	i->prefix = prefix_of_vex[second & 3];
	i->is_vex = i->is_evex = true;
	i->broadcasts = third & 0x10;
	i->mask = third & 7;
	i->vector_bytes = (uint8_t)(16u << (third >> 5 & 3));
	return i->map >= 1 && i->map <= 3 && i->vector_bytes <= 64;
}

/* Takes everything before the ModRM byte; returns false if there is no such instruction. */
static bool take_opcode(struct instruction *i)
{
	uint8_t byte = take_prefixes(i);
	i->vector_bytes = 16;
	if (byte == 0xc4 || byte == 0xc5) {
		if (!take_vex(i, byte))
			return false;
		byte = take_byte(i);
	} else if (byte == 0x62) {
		if (!take_evex(i))
			return false;
		byte = take_byte(i);
	} else if (byte == 0x0f) {
		byte = take_byte(i);
		i->map = byte == 0x38 ? 2 : byte == 0x3a ? 3 : 1;
		if (i->map > 1)
			byte = take_byte(i);
	}
	i->opcode = byte;
	return !i->is_short;
}

static uint32_t count_immediate(const struct instruction *i, uint16_t form)
{
	switch (form & IMM) {
	case IMM_1:
		return 1;
	case IMM_2:
		return 2;
	case IMM_Z:
		return operand_bytes(i) == 2 ? 2 : 4;
	case IMM_V:
		return operand_bytes(i);
	case IMM_F6:
		return form_of(i) < 2 ? 1 : 0;
	case IMM_F7:
		return form_of(i) < 2 ? operand_bytes(i) == 2 ? 2 : 4 : 0;
	default:
		return 0;
	}
}

static uint32_t lane_bytes(const struct instruction *i)
{
	return is_wide(i) ? 8 : 4;
}

static uint32_t count_sse(const struct instruction *i)
{
	return i->prefix == 0xf3 ? 4 : i->prefix == 0xf2 ? 8 : i->vector_bytes;
}

static uint32_t count_bytes(const struct instruction *i, enum width width)
{
	static const uint8_t fixed[W_V] = {0, 0, 1, 2, 4, 8, 10, 16, 32, 28, 108};
	switch (width) {
	case W_V:
		return operand_bytes(i);
	case W_Y:
	case W_SCALAR:
	case W_LANES:
	case W_PACKED:
		return lane_bytes(i);
	case W_PACKED1:
		return is_wide(i) ? 2 : 1;
	case W_FAR:
		return operand_bytes(i) + 2;
	case W_MMX:
		return i->is_vex || i->prefix ? i->vector_bytes : 8;
	case W_VEC:
		return i->vector_bytes;
	case W_HALF:
		return i->vector_bytes / 2;
	case W_QUARTER:
		return i->vector_bytes / 4;
	case W_EIGHTH:
		return i->vector_bytes / 8;
	case W_SSE:
		return count_sse(i);
	case W_STATE:
		return 1;
	default:
		return width < W_V ? fixed[width] : 0;
	}
}

static bool is_packed(enum width width)
{
	return width == W_VEC || width == W_SSE || width == W_HALF || width == W_MMX;
}

/* What a broadcast reads is one element: of conversions from singles to wider ones the narrower. */
static uint32_t count_broadcast(const struct instruction *i, enum width width)
{
	return width == W_HALF ? 4 : lane_bytes(i);
}

static uint64_t cut_address(const struct instruction *i, uint64_t address)
{
	return i->small_addresses ? (uint32_t)address : address;
}

static uint64_t segment_base(const struct instruction *i, const struct decode_registers *r)
{
	return i->segment == 0x64 ? r->fs_base : i->segment == 0x65 ? r->gs_base : 0;
}

/* A displacement of a byte counts operands in EVEX. */
static int64_t take_displacement(struct instruction *i, uint32_t bytes, uint32_t unit)
{
	int64_t value = take_signed(i, bytes);
	return i->is_evex && bytes == 1 ? value * (int64_t)unit : value;
}

static uint64_t take_sib(struct instruction *i, const struct decode_registers *r, bool *ret_based)
{
	uint8_t sib = take_byte(i);
	uint32_t index = (sib >> 3 & 7u) | (i->rex & REX_X ? 8u : 0);
	uint32_t base = (sib & 7u) | (i->rex & REX_B ? 8u : 0);
	uint64_t address = index == 4 ? 0 : r->general[index] << (sib >> 6);
	*ret_based = (sib & 7) != 5 || i->modrm >= 0x40;
	return *ret_based ? address + r->general[base] : address;
}

/*
 * Takes what names the memory; returns its address, without the segment's base and, where it is
 * relative to rip, without the length of the instruction (*ret_from_rip). `unit`: of displacements
 * in EVEX.
 */
static uint64_t take_address(
	struct instruction *i, const struct decode_registers *r, uint32_t unit, bool *ret_from_rip)
{
	uint8_t mod = i->modrm >> 6, rm = i->modrm & 7;
	bool based = true;
	uint64_t address = 0;
	*ret_from_rip = mod == 0 && rm == 5;
	if (rm == 4)
		address = take_sib(i, r, &based);
	else if (!*ret_from_rip)
		address = r->general[rm | (i->rex & REX_B ? 8 : 0)];
	if (mod == 1)
		address += (uint64_t)take_displacement(i, 1, unit);
	else if (mod == 2 || *ret_from_rip || !based)
		address += (uint64_t)take_displacement(i, 4, unit);
	return address;
}

static void add_operand(
	struct decoded *d, uint64_t address, uint32_t bytes, uint32_t access, bool unsized)
{
	if (d->count < DECODE_OPERANDS)
		d->operands[d->count++] =
			(struct decode_operand){address, bytes, (uint8_t)access, unsized};
}

#define RSP 4
#define RBP 5
#define RSI 6
#define RDI 7
#define RBX 3

/* bt and kin with a register: it counts bits from the operand, signed, past its end. */
static uint64_t add_bits(const struct instruction *i, const struct decode_registers *r)
{
	if (i->map != 1 || (i->opcode & 0xe7) != 0xa3 || i->is_vex)
		return 0;
	uint64_t bits = r->general[form_of(i) | (i->rex & REX_R ? 8 : 0)];
	uint32_t bytes = operand_bytes(i), shift = 64 - 8 * bytes;
	int64_t count = (int64_t)(bits << shift) >> shift;
	int64_t unit = 8 * (int64_t)bytes;
	int64_t operands = (count - ((count % unit) + unit) % unit) / unit;
	return (uint64_t)operands * bytes;
}

/* vmaskmov, vpmaskmov, whose masks are vectors. */
static bool is_masked_move(const struct instruction *i)
{
	return i->map == 2 && i->is_vex && !i->is_evex &&
	       ((i->opcode >= 0x2c && i->opcode <= 0x2f) || i->opcode == 0x8c || i->opcode == 0x8e);
}

/* The operand that the ModRM byte names. */
static void decode_operand_of(
	struct instruction *i, const struct decode_registers *r, uint16_t form, struct decoded *d)
{
	enum width width = form & WIDTH;
	uint32_t bytes = count_bytes(i, width);
	if (i->is_evex && i->broadcasts && is_packed(width))
		bytes = count_broadcast(i, width);
	bool from_rip;
	uint64_t address = take_address(i, r, bytes, &from_rip);
	i->at += count_immediate(i, form);
	i->is_short = i->is_short || i->at > i->available;
	if (from_rip)
		address += r->rip + i->at;
	if (width == W_NONE)
		return;
	if (width == W_LANES) {
		add_operand(d, 0, bytes, form >> 5 & 3, true);
		return;
	}
	address = cut_address(i, address + add_bits(i, r)) + segment_base(i, r);
	bool masked = i->mask || is_masked_move(i);
	bool unsized = width == W_STATE || width == W_PACKED || width == W_PACKED1 || masked;
	if (masked && !i->broadcasts && is_packed(width))
		bytes = 1;
	add_operand(d, address, bytes, form >> 5 & 3, unsized);
}

/* movs, cmps, stos, lods, scas, ins, outs: bit 0 says whether a byte or more. */
static void decode_string(
	const struct instruction *i, const struct decode_registers *r, struct decoded *d)
{
	uint32_t bytes = i->opcode & 1 ? operand_bytes(i) : 1, class = i->opcode & 0xfe;
	uint64_t source = cut_address(i, r->general[RSI]) + segment_base(i, r);
	uint64_t destination = cut_address(i, r->general[RDI]);
	if (i->opcode < 0x70 && bytes == 8)
		bytes = 4;
	if ((i->prefix == 0xf2 || i->prefix == 0xf3) && !cut_address(i, r->general[1]))
		return;
	if (class == 0xa4 || class == 0xa6 || class == 0xac || class == 0x6e)
		add_operand(d, source, bytes, DECODE_READ, false);
	if (class == 0xa6 || class == 0xae)
		add_operand(d, destination, bytes, DECODE_READ, false);
	if (class == 0xa4 || class == 0xaa || class == 0x6c)
		add_operand(d, destination, bytes, DECODE_WRITE, false);
}

/* mov between rax and an address that the instruction has in full. */
static void decode_absolute(
	struct instruction *i, const struct decode_registers *r, struct decoded *d)
{
	uint64_t address =
		i->small_addresses ? (uint32_t)take_signed(i, 4) : (uint64_t)take_signed(i, 8);
	uint32_t bytes = i->opcode & 1 ? operand_bytes(i) : 1;
	add_operand(d, address + segment_base(i, r), bytes,
		i->opcode & 2 ? DECODE_WRITE : DECODE_READ, false);
}

/* Instructions of one byte that are a class of their own. */
static void decode_special(
	struct instruction *i, const struct decode_registers *r, struct decoded *d)
{
	if (i->opcode >= 0xa0 && i->opcode <= 0xa3)
		decode_absolute(i, r, d);
	else if (i->opcode == 0xc9) /* leave */
		add_operand(d, r->general[RBP], stack_bytes(i), DECODE_READ, false);
	else if (i->opcode == 0xd7) /* xlat */
		add_operand(d,
			cut_address(i, r->general[RBX] + (uint8_t)r->general[0]) +
				segment_base(i, r),
			1, DECODE_READ, false);
	else
		decode_string(i, r, d);
}

static void decode_stack(const struct instruction *i, const struct decode_registers *r,
	uint16_t form, struct decoded *d)
{
	/* Near calls and returns are always of 8 bytes. */
	bool near = !i->map && (i->opcode == 0xe8 || i->opcode == 0xc2 || i->opcode == 0xc3);
	uint32_t bytes = near ? 8 : stack_bytes(i);
	uint64_t rsp = r->general[RSP];
	if (form & PUSH)
		add_operand(d, rsp - bytes, bytes, DECODE_WRITE, false);
	else if (form & POP)
		add_operand(d, rsp, bytes, DECODE_READ, false);
}

/* pop counts rsp as it is afterwards, where that is in its address. */
static struct decode_registers registers_after_pop(
	const struct instruction *i, const struct decode_registers *r)
{
	struct decode_registers after = *r;
	after.general[RSP] += stack_bytes(i);
	return after;
}

static bool decode_form(struct instruction *i, const struct decode_registers *r, struct decoded *d)
{
	uint16_t form = decode_find_opcode(i);
	if (form & MODRM) {
		i->modrm = take_byte(i);
		form = decode_find_form(i, form);
	}
	if (!form || i->is_short)
		return false;
	if ((form & WIDTH) == W_SPECIAL) {
		decode_special(i, r, d);
	} else if (form & MODRM && has_memory(i)) {
		bool pops = form & POP;
		if (pops)
			decode_stack(i, r, form, d);
		struct decode_registers after = pops ? registers_after_pop(i, r) : *r;
		decode_operand_of(i, &after, form, d);
		if (!pops)
			decode_stack(i, r, form, d);
	} else {
		decode_stack(i, r, form, d);
	}
	return !i->is_short;
}

bool decode_instruction(const uint8_t *bytes, size_t available,
	const struct decode_registers *registers, struct decoded *ret)
{
	struct instruction i = {.bytes = bytes,
		.available = available < DECODE_BYTES_MAX ? available : DECODE_BYTES_MAX};
	struct decoded d = {0};
	if (!take_opcode(&i) || !decode_form(&i, registers, &d))
		return false;
	*ret = d;
	return true;
}

const struct decode_operand *decode_find_operand(const struct decoded *decoded, uint64_t address)
{
	const struct decode_operand *unknown = NULL;
	for (uint32_t k = 0; k < decoded->count; k++) {
		const struct decode_operand *o = &decoded->operands[k];
		bool unsized_here =
			o->unsized && address >= o->address && address - o->address < 8192;
		if (o->unsized && !o->address)
			unknown = o;
		else if (address - o->address < o->bytes || unsized_here)
			return o;
	}
	return unknown;
}

static uint32_t displacement_bytes(const struct instruction *i)
{
	bool is_byte = !i->map && (i->opcode == 0xeb || (i->opcode & 0xf0) == 0x70 ||
					  (i->opcode & 0xfc) == 0xe0);
	return is_byte ? 1 : 4;
}

/* What control flow does. Far calls and jumps are none of a program's. */
static enum decode_flow find_flow(const struct instruction *i, bool *ret_relative)
{
	uint8_t o = i->opcode, form = form_of(i);
	bool plain = !i->map && !i->is_vex, second = i->map == 1 && !i->is_vex;
	*ret_relative = true;
	if (plain && (o == 0xe9 || o == 0xeb))
		return DECODE_JUMP;
	if ((plain && (o & 0xf0) == 0x70) || (second && (o & 0xf0) == 0x80))
		return DECODE_JUMP_IF;
	if (plain && ((o & 0xfc) == 0xe0 || (o == 0xc7 && i->modrm == 0xf8)))
		return DECODE_LOOP;
	if (plain && o == 0xe8)
		return DECODE_CALL;
	*ret_relative = false;
	if (plain && o == 0xff && (form == 2 || form == 3))
		return DECODE_CALL;
	if (plain && ((o == 0xff && (form == 4 || form == 5)) || o == 0xc2 || o == 0xc3 ||
			     o == 0xcc || o == 0xf4))
		return DECODE_ENDS;
	return second && o == 0x0b ? DECODE_ENDS : DECODE_GOES_ON;
}

/* Takes the ModRM byte's memory, of which only the length counts here. */
static void take_memory(struct instruction *i, struct decode_shape *shape)
{
	static const struct decode_registers none;
	bool from_rip;
	(void)take_address(i, &none, 1, &from_rip);
	if (from_rip)
		shape->rip_at = (uint8_t)(i->at - 4);
}

bool decode_find_shape(const uint8_t *bytes, size_t available, struct decode_shape *ret)
{
	struct instruction i = {.bytes = bytes,
		.available = available < DECODE_BYTES_MAX ? available : DECODE_BYTES_MAX};
	struct decode_shape shape = {.bytes = 0};
	bool relative;
	if (!take_opcode(&i))
		return false;
	uint16_t form = decode_find_opcode(&i);
	if (form & MODRM) {
		i.modrm = take_byte(&i);
		form = decode_find_form(&i, form);
		if (form && has_memory(&i))
			take_memory(&i, &shape);
	}
	if (!form || i.is_short)
		return false;
	shape.flow = (uint8_t)find_flow(&i, &relative);
	if (relative) {
		/* Processors differ in what the prefix means there. */
		if (i.small_operands && !is_wide(&i))
			return false;
		shape.displacement_at = (uint8_t)i.at;
		shape.displacement_bytes = (uint8_t)displacement_bytes(&i);
		shape.condition = shape.flow == DECODE_JUMP_IF ? i.opcode & 0xf : 0;
		i.at += shape.displacement_bytes;
	} else if (!i.map && i.opcode >= 0xa0 && i.opcode <= 0xa3) {
		i.at += i.small_addresses ? 4 : 8;
	} else {
		i.at += count_immediate(&i, form);
	}
	shape.bytes = (uint8_t)i.at;
	if (i.at > i.available)
		return false;
	*ret = shape;
	return true;
}
