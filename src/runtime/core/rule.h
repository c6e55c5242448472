/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: nothing.
 *
 * How to step over one frame: where its caller's stack pointer (the CFA, DWARF 5 section 6.4) comes
 * from and where it saved rbp. The return address is always at CFA - 8. Packed into one word so
 * that a table entry is read in one piece.
 */
#ifndef RUNTIME_RULE_H
#define RUNTIME_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum rt_cfa {
	RT_CFA_NONE = 0,        /* no unwind information: try the frame pointer */
	RT_CFA_RSP = 1,         /* rsp + offset */
	RT_CFA_RBP = 2,         /* rbp + offset */
	RT_CFA_RBP_DEREF = 3,   /* the word at rbp + offset (functions that realign their stack) */
	RT_CFA_SIGNAL = 4,      /* signal trampoline: everything is in the ucontext at rsp */
	RT_CFA_END = 5,         /* outermost frame */
	RT_CFA_UNKNOWN = 6,     /* unwind information that a rule can't say: don't guess */
	RT_CFA_RSP_CHECKED = 7, /* as RT_CFA_RSP, but rsp itself may point at nothing: interrupted,
				   perhaps by the end of its stack */
};

enum rt_saved_rbp {
	RT_RBP_SAME = 0,
	RT_RBP_AT_CFA = 1, /* in memory at CFA + offset */
	RT_RBP_AT_RBP = 2, /* in memory at rbp + offset */
};

/* bits 0-15 module, 16-31 rbp offset, 32-35 enum rt_cfa, 36-39 enum rt_saved_rbp, 40-63 CFA offset;
 * offsets in 8-byte words, signed. */
struct rt_rule {
	uint64_t bits;
};

#define RT_RULE_KINDS(cfa, rbp) ((uint64_t)(cfa) | (uint64_t)(rbp) << 4)
/* 64 MiB to either side for the CFA, 256 KiB for rbp. */
#define RT_RULE_CFA_BITS 24
#define RT_RULE_RBP_BITS 16

static inline uint64_t rt_rule_kinds(struct rt_rule rule)
{
	return rule.bits >> 32 & 0xff;
}

static inline enum rt_cfa rt_rule_cfa(struct rt_rule rule)
{
	return (enum rt_cfa)(rule.bits >> 32 & 15);
}

static inline enum rt_saved_rbp rt_rule_rbp(struct rt_rule rule)
{
	return (enum rt_saved_rbp)(rule.bits >> 36 & 15);
}

/* In bytes. */
static inline uint64_t rt_rule_cfa_offset(struct rt_rule rule)
{
	return (uint64_t)((int64_t)rule.bits >> 40) * 8;
}

static inline uint64_t rt_rule_rbp_offset(struct rt_rule rule)
{
	return (uint64_t)(int64_t)(int16_t)(rule.bits >> 16) * 8;
}

static inline uint16_t rt_rule_module(struct rt_rule rule)
{
	return (uint16_t)rule.bits;
}

/* Offsets in bytes; the caller has made sure that they fit. */
static inline struct rt_rule rt_rule_make(
	enum rt_cfa cfa, int64_t cfa_offset, enum rt_saved_rbp rbp, int64_t rbp_offset)
{
	uint64_t bits = RT_RULE_KINDS(cfa, rbp) << 32;
	bits |= (uint64_t)(cfa_offset / 8) << 40;
	bits |= (uint64_t)(uint16_t)(rbp_offset / 8) << 16;
	return (struct rt_rule){bits};
}

#endif
