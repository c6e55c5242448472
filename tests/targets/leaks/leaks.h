/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a target of the leak search knows of its own blocks. A *role* is a leaf function that is
 * never inlined and allocates blocks of one part in the story; its counters stand beside it. At
 * its end the target tells of each role of which kind its blocks are: ../README.md
 * is the grammar of what it prints.
 *
 * The kinds are the program's truth only if nothing else holds the blocks: main() calls story()
 * and keeps no pointer, and whoever tells the truth scrubs the registers and the dead part of the
 * stack first. Nothing here keeps the address of a block.
 */
#ifndef TARGETS_LEAKS_LEAKS_H
#define TARGETS_LEAKS_LEAKS_H

#include "truth.h"

enum leak_kind {
	LEAK_DEFINITE,
	LEAK_INDIRECT,
	LEAK_POSSIBLE,
	LEAK_REACHABLE,
	LEAK_KINDS,
};

/* Added to the counters while the target runs: a sum of bytes looks like an address otherwise, of
 * just such a large block. */
#define LEAK_NO_ADDRESS (UINT64_C(1) << 63)

struct leak_role {
	const char *name;
	uint64_t blocks, bytes;           /* that live; with LEAK_NO_ADDRESS */
	uint64_t told_blocks, told_bytes; /* in this section */
};

#ifdef __cplusplus
extern "C" {
#endif
extern struct leak_role *__start_leak_roles[] __attribute__((weak));
extern struct leak_role *__stop_leak_roles[] __attribute__((weak));
#ifdef __cplusplus
}
#endif

/* The loader has allocated for itself: thread-local memory, what it knows of a library. And libc:
 * its streams, the environment. */
TRUTH_UNUSED static int leak_loader_allocates, leak_libc_allocates;
static uint64_t leak_total_blocks[LEAK_KINDS], leak_total_bytes[LEAK_KINDS];

TRUTH_UNUSED static const char *leak_kind_name(enum leak_kind kind)
{
	return kind == LEAK_DEFINITE   ? "definite"
	       : kind == LEAK_INDIRECT ? "indirect"
	       : kind == LEAK_POSSIBLE ? "possible"
				       : "reachable";
}

#define LEAK_COUNTERS(function)                                                                    \
	static struct leak_role leak_of_##function = {                                             \
		#function, LEAK_NO_ADDRESS, LEAK_NO_ADDRESS, 0, 0};                                \
	__attribute__((section("leak_roles"),                                                      \
		used)) static struct leak_role *leak_entry_##function = &leak_of_##function;

/*
 * A role FUNCTION of any shape: its parameters in parentheses, the bytes it asks for and the call
 * that does, as expressions over these parameters. It returns the block as the call gave it.
 */
#define LEAK_ROLE_AS(function, parameters, requested, call)                                        \
	LEAK_COUNTERS(function)                                                                    \
	TRUTH_LINKAGE TRUTH_LEAF void *function parameters                                         \
	{                                                                                          \
		void *block = (call);                                                              \
		return leak_born(&leak_of_##function, block, requested);                           \
	}

/* void *FUNCTION(size_t bytes): malloc, and zeros in it, so that nothing old holds anything. */
#define LEAK_ROLE(function)                                                                        \
	LEAK_ROLE_AS(function, (size_t bytes), bytes, leak_zeroed(malloc(bytes), bytes))

static inline uint64_t leak_blocks(const struct leak_role *role)
{
	return TRUTH_GET(role->blocks) - LEAK_NO_ADDRESS;
}

static inline uint64_t leak_bytes(const struct leak_role *role)
{
	return TRUTH_GET(role->bytes) - LEAK_NO_ADDRESS;
}

/* The compiler knows nothing of what a block is and what becomes of it. */
static inline void *leak_opaque(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static inline void *leak_zeroed(void *block, size_t bytes)
{
	block = leak_opaque(block);
	truth_need(block != NULL, "no memory");
	memset(block, 0, bytes);
	return leak_opaque(block);
}

static inline void *leak_born(struct leak_role *role, void *block, uint64_t bytes)
{
	truth_need(block != NULL, "no memory");
	TRUTH_ADD(role->blocks, 1);
	TRUTH_ADD(role->bytes, bytes);
	return leak_opaque(block);
}

/* A block of a role is gone, or will be when the search comes. */
static inline void leak_died(struct leak_role *role, uint64_t bytes)
{
	TRUTH_ADD(role->blocks, -1);
	TRUTH_ADD(role->bytes, -bytes);
}

/* Frees a block of `bytes` of the role FUNCTION. */
#define LEAK_FREE(function, block, bytes) (leak_died(&leak_of_##function, bytes), free(block))

/* Lays a pointer, or what hides one, into word number `index` of memory. */
TRUTH_UNUSED static inline void leak_put(void *memory, size_t index, void *value)
{
	((void *volatile *)memory)[index] = value;
}

TRUTH_UNUSED static inline void *leak_get(void *memory, size_t index)
{
	return ((void *volatile *)memory)[index];
}

static inline char *leak_inside(void *block, size_t offset)
{
	return (char *)block + offset;
}

#if defined(__x86_64__)
#define LEAK_SCRUB_REGISTERS()                                                                     \
	__asm__ volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\t"            \
			 "xor %%esi, %%esi\n\txor %%edi, %%edi\n\txor %%r8d, %%r8d\n\t"            \
			 "xor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d\n\t"        \
			 "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\t"   \
			 "pxor %%xmm3, %%xmm3\n\tpxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\t"   \
			 "pxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\tpxor %%xmm8, %%xmm8\n\t"   \
			 "pxor %%xmm9, %%xmm9\n\tpxor %%xmm10, %%xmm10\n\tpxor %%xmm11, "          \
			 "%%xmm11\n\t"                                                             \
			 "pxor %%xmm12, %%xmm12\n\tpxor %%xmm13, %%xmm13\n\tpxor %%xmm14, "        \
			 "%%xmm14\n\t"                                                             \
			 "pxor %%xmm15, %%xmm15"                                                   \
			 :                                                                         \
			 :                                                                         \
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0",    \
			 "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",   \
			 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory")
#else
#define LEAK_SCRUB_REGISTERS() __asm__ volatile("" ::: "memory")
#endif

/* Leaves zeros where frames have been, below this one, and in the registers that a call may use.
 * What the callers keep in theirs stays. */
TRUTH_UNUSED TRUTH_FRAME static void leak_scrub(void)
{
	enum { WORDS = 3000 };
	volatile uint64_t below[WORDS];
	for (size_t i = 0; i < WORDS; i++)
		below[i] = 0;
	(void)below[0];
	LEAK_SCRUB_REGISTERS();
}

TRUTH_UNUSED static void leak_tell_line(enum leak_kind kind, struct leak_role *role,
	uint64_t blocks, uint64_t bytes, const char *more)
{
	role->told_blocks += blocks;
	role->told_bytes += bytes;
	leak_total_blocks[kind] += blocks;
	leak_total_bytes[kind] += bytes;
	truth_say("# expect: leak site=%s kind=%s blocks=%lu bytes=%lu%s", role->name,
		leak_kind_name(kind), (unsigned long)blocks, (unsigned long)bytes, more);
}

/* So many of the role's blocks are of that kind. */
#define LEAKS_ARE_PART(kind, function, blocks, bytes)                                              \
	leak_tell_line(kind, &leak_of_##function, blocks, bytes, "")

/* All of the role's blocks are of that kind; of definite ones: they hold nothing that is lost. */
#define LEAKS_ARE(kind, function)                                                                  \
	leak_tell_line(kind, &leak_of_##function, leak_blocks(&leak_of_##function),                \
		leak_bytes(&leak_of_##function),                                                   \
		(kind) == LEAK_DEFINITE ? " indirect_blocks=0 indirect_bytes=0" : "")

/* Of a role's blocks `leaders` of `leader_bytes` are definite, the rest is indirect, as all blocks
 * of the roles in the list, which ends with NULL, are: these count with the leaders. */
TRUTH_UNUSED static void leak_tell_led(struct leak_role *role, uint64_t leaders,
	uint64_t leader_bytes, struct leak_role *const *others)
{
	char more[96];
	uint64_t blocks = leak_blocks(role) - leaders, bytes = leak_bytes(role) - leader_bytes;
	uint64_t led_blocks = blocks, led_bytes = bytes;
	for (size_t i = 0; others[i]; i++) {
		led_blocks += leak_blocks(others[i]);
		led_bytes += leak_bytes(others[i]);
	}
	snprintf(more, sizeof more, " indirect_blocks=%lu indirect_bytes=%lu",
		(unsigned long)led_blocks, (unsigned long)led_bytes);
	leak_tell_line(LEAK_DEFINITE, role, leaders, leader_bytes, more);
	if (blocks)
		leak_tell_line(LEAK_INDIRECT, role, blocks, bytes, "");
	for (size_t i = 0; others[i]; i++)
		leak_tell_line(LEAK_INDIRECT, others[i], leak_blocks(others[i]),
			leak_bytes(others[i]), "");
}

/* LEAKS_LED(leader role, its definite blocks, their bytes, led roles as &leak_of_FUNCTION …). */
#define LEAKS_LED(function, leaders, leader_bytes, ...)                                            \
	do {                                                                                       \
		struct leak_role *const others[] = {__VA_ARGS__};                                  \
		leak_tell_led(&leak_of_##function, leaders, leader_bytes, others);                 \
	} while (0)

/* All blocks of the first role are definite, and hold all of the second. */
#define LEAKS_HEAD(function, led)                                                                  \
	LEAKS_LED(function, leak_blocks(&leak_of_##function), leak_bytes(&leak_of_##function),     \
		&leak_of_##led, NULL)

/* So many of the role's blocks will be gone when the search of this section comes. */
TRUTH_UNUSED static void leak_tell_gone(struct leak_role *role)
{
	role->told_blocks = leak_blocks(role);
	role->told_bytes = leak_bytes(role);
}
#define LEAKS_GONE(function) leak_tell_gone(&leak_of_##function)

/* Blocks that libc or libstdc++ keep for the program, told by the function that allocates them. */
TRUTH_UNUSED static void leak_tell_kept(
	enum leak_kind kind, const char *functions, uint64_t blocks, uint64_t bytes)
{
	leak_total_blocks[kind] += blocks;
	leak_total_bytes[kind] += bytes;
	truth_say("# expect: leak site=%s kind=%s blocks=%lu bytes=%lu", functions,
		leak_kind_name(kind), (unsigned long)blocks, (unsigned long)bytes);
}

TRUTH_UNUSED static void leak_tell_totals(void)
{
	char text[400];
	int length = 0;
	for (int kind = 0; kind < LEAK_KINDS; kind++) {
		length += snprintf(text + length, sizeof text - (size_t)length,
			" %s_blocks=%lu %s_bytes=%lu", leak_kind_name((enum leak_kind)kind),
			(unsigned long)leak_total_blocks[kind],
			leak_kind_name((enum leak_kind)kind),
			(unsigned long)leak_total_bytes[kind]);
		leak_total_blocks[kind] = leak_total_bytes[kind] = 0;
	}
	truth_say("# expect: leaktotals%s", text);
	if (leak_loader_allocates)
		truth_say("# expect: leakbeside module=ld-linux-x86-64.so.2");
	if (leak_libc_allocates)
		truth_say("# expect: leakbeside module=libc.so.6");
	for (struct leak_role **entry = __start_leak_roles; entry != __stop_leak_roles; entry++) {
		struct leak_role *role = *entry;
		truth_need(leak_blocks(role) == role->told_blocks &&
				   leak_bytes(role) == role->told_bytes,
			role->name);
		role->told_blocks = role->told_bytes = 0;
	}
}

/* What follows is the truth of a run with these options. */
TRUTH_UNUSED static void leaks_with(const char *options)
{
	leak_tell_totals();
	truth_say("# leak-options: %s", options);
}

/* The last word of a target, after which it neither allocates nor frees. */
TRUTH_UNUSED TRUTH_FRAME static void leaks_end(void)
{
	leak_tell_totals();
	truth_say("# end");
	leak_scrub();
}

#endif
