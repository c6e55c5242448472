/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see decode.h. May touch: the same.
 *
 * What decode.c and decode_tables.c share: an instruction that is being read, and its form.
 */
#ifndef RUNTIME_GUARD_DECODE_IMPL_H
#define RUNTIME_GUARD_DECODE_IMPL_H

#include "runtime/guard/decode.h"

/*
 * The form of an instruction: a number of enum width, and what is or'ed to it: whether its memory
 * is read or written, what follows the opcode, which other memory it accesses.
 */
/* How wide a memory operand is. V: vector length (16, 32, 64). */
enum width {
	W_UNKNOWN, /* no such opcode */
	W_NONE,    /* no memory is accessed, though a ModRM byte may name some */
	W_1,
	W_2,
	W_4,
	W_8,
	W_10,
	W_16,
	W_32,
	W_28,
	W_108,
	W_V,       /* 2, 4 or 8: operand size */
	W_Y,       /* 4 or 8: by W alone */
	W_FAR,     /* an offset of the operand size, and a selector */
	W_MMX,     /* 8 without prefix, else V */
	W_VEC,     /* V */
	W_HALF,    /* V / 2 */
	W_QUARTER, /* V / 4 */
	W_EIGHTH,  /* V / 8 */
	W_SSE,     /* V; with prefix F3 4, with F2 8: packed and scalar of one opcode */
	W_SCALAR,  /* 4 or 8 by W, of VEX and EVEX */
	W_LANES,   /* of gather and scatter: 4 or 8 by W each, their addresses are several */
	W_PACKED,  /* of vpcompress and vpexpand: 4 or 8 by W each, as many as the mask says */
	W_PACKED1, /* 1 or 2 by W each, likewise */
	W_STATE,   /* of the processor, as large as it is */
	W_SPECIAL, /* decode_special() knows */
};

#define WIDTH 0x1f
#define R 0x20 /* read */
#define M 0x40 /* written ("modified") */
#define RM (R | M)
#define MODRM 0x80
/* What follows. */
#define IMM_1 0x100
#define IMM_2 0x200
#define IMM_Z 0x300  /* 2 or 4: operand size, at most 4 */
#define IMM_V 0x400  /* 2, 4 or 8: operand size */
#define IMM_F6 0x500 /* as IMM_1, IMM_Z, in the forms /0 and /1 of their group alone */
#define IMM_F7 0x600
#define IMM 0x700
/* The memory that a push, a pop, or rsi and rdi name, before or beside the operand. */
#define PUSH 0x800
#define POP 0x1000
/* The group's /7 (cmp), or /0 and /1 (test), or all but /2 and /3 (not, neg) only read. */
#define CMP7 0x2000
#define UNARY 0x4000

/* An operand of ModRM that is read, written, both. */
#define E_R(w) (MODRM | R | W_##w)
#define E_M(w) (MODRM | M | W_##w)
#define E_RM(w) (MODRM | RM | W_##w)
#define E_NONE (MODRM | W_NONE)

/* An instruction that is being read. */
struct instruction {
	const uint8_t *bytes;
	size_t available, at;
	uint8_t rex;    /* or W, R, X, B of VEX and EVEX in its form */
	uint8_t prefix; /* mandatory: 0, 0x66, 0xf2, 0xf3 */
	uint8_t map;    /* 0, 1: 0F, 2: 0F 38, 3: 0F 3A */
	uint8_t opcode, modrm;
	uint8_t vector_bytes; /* 16, 32, 64 */
	uint8_t mask;         /* EVEX: a register of masks is named */
	bool is_vex, is_evex, broadcasts;
	bool small_operands, small_addresses; /* prefixes 66, 67 */
	bool is_short;                        /* it goes on after the bytes that are there */
	uint8_t segment;                      /* its prefix; 0: none */
};

#define REX_W 8
#define REX_R 4
#define REX_X 2
#define REX_B 1

static inline bool is_wide(const struct instruction *i)
{
	return i->rex & REX_W;
}

static inline uint8_t form_of(const struct instruction *i)
{
	return i->modrm >> 3 & 7;
}

static inline bool has_memory(const struct instruction *i)
{
	return i->modrm < 0xc0;
}

static inline uint32_t operand_bytes(const struct instruction *i)
{
	return is_wide(i) ? 8 : i->small_operands ? 2 : 4;
}

/* Of a push, a pop, a near call or return. */
static inline uint32_t stack_bytes(const struct instruction *i)
{
	return i->small_operands && !is_wide(i) ? 2 : 8;
}

/*
 * Returns the form of an opcode, as far as that is known before its ModRM byte: whether one
 * follows, and all of it for those without. 0: there is no such opcode.
 */
uint16_t decode_find_opcode(const struct instruction *i);

/* Returns the form once the ModRM byte is there. Its width may be W_SPECIAL only without one. */
uint16_t decode_find_form(const struct instruction *i, uint16_t form);

#endif
