/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: a page fault of the program is looked at, in a signal handler; in the command, where
 * it changes code of a process (src/capture/attach). May touch: nothing but what it is given.
 *
 * What an x86-64 instruction does to memory: reads or writes, how many bytes, at which addresses.
 */
#ifndef RUNTIME_GUARD_DECODE_H
#define RUNTIME_GUARD_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECODE_BYTES_MAX 15u /* of an instruction */
#define DECODE_OPERANDS 3u

enum decode_access {
	DECODE_READ = 1,
	DECODE_WRITE = 2,
};

/* Registers as instructions number them: rax rcx rdx rbx rsp rbp rsi rdi r8…r15. */
struct decode_registers {
	uint64_t general[16];
	uint64_t rip; /* of the instruction */
	uint64_t fs_base, gs_base;
};

/* Memory that an instruction accesses. */
struct decode_operand {
	uint64_t address; /* 0 if it has several (gather, scatter) */
	uint32_t bytes;   /* the least, if `unsized` */
	uint8_t access;   /* enum decode_access, or'ed */
	bool unsized; /* the number of bytes depends on more than the instruction: masks, the state
			 that xsave saves. With address 0, so does the address */
};

struct decoded {
	uint32_t count; /* of operands, in the order in which they are accessed */
	struct decode_operand operands[DECODE_OPERANDS];
};

/*
 * Decodes the instruction at `bytes`, of which `available` may be read, with registers as they are
 * before it runs. Of instructions that are repeated (rep movs) the operands are those of the next
 * step, as the processor leaves registers when a step faults.
 *
 * Returns false, and leaves *ret as it is, if the instruction is unknown or goes on after the bytes
 * that are there. An instruction that accesses no memory has no operands. Which program may have
 * which instruction is not looked at: bytes that no processor takes may be decoded as something.
 */
bool decode_instruction(const uint8_t *bytes, size_t available,
	const struct decode_registers *registers, struct decoded *ret);

/* Where an instruction's bytes mean an address relative to it. */
enum decode_flow {
	DECODE_GOES_ON,
	DECODE_JUMP,    /* jmp with a displacement */
	DECODE_JUMP_IF, /* jcc with a displacement: the condition is the opcode's low four bits */
	DECODE_LOOP,    /* loop, jrcxz, xbegin: a displacement and no other form */
	DECODE_CALL,    /* near, with a displacement or through an operand */
	DECODE_ENDS, /* ret, jmp through an operand, ud2, hlt, int3: what follows is not reached */
};

struct decode_shape {
	uint8_t bytes;           /* of the instruction */
	uint8_t flow;            /* enum decode_flow */
	uint8_t displacement_at; /* of DECODE_JUMP to DECODE_CALL; 0: there is none */
	uint8_t displacement_bytes;
	uint8_t rip_at;    /* where the displacement of an operand relative to rip is; 0: none */
	uint8_t condition; /* of DECODE_JUMP_IF */
};

/* Finds how long the instruction at `bytes` is and what in it depends on where it is. Returns false
 * as decode_instruction() does. */
bool decode_find_shape(const uint8_t *bytes, size_t available, struct decode_shape *ret);

/*
 * Returns the operand that a page fault at `address` was of: the one that contains it, or else one
 * whose address is not known; NULL: none.
 */
const struct decode_operand *decode_find_operand(const struct decoded *decoded, uint64_t address);

#endif
