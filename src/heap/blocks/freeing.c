/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/freeing.h"

#include <elf.h>

/* The frames of free() and of what it calls are small. */
#define STACK_WORDS 64u
/* This many chunks have to follow each other. */
#define CHAIN 2u
#define CHUNK_HEAD 16u
/* A word of a user's registers (sys/user.h), and the number of futex() there. */
#define X86_RDI 14u
#define X86_SYSTEM_CALL 15u
#define X86_FUTEX 202u
#define X86_SYSCALL 0x050fu
#define X86_REGISTERS 15u
#define ARM_REGISTERS 31u
#define ARM_SVC 0xd4000001u

static bool is_arena(const struct heap *heap, uint64_t address)
{
	for (size_t i = 0; i < heap->glibc.arenas.len; i++) {
		if (heap->glibc.arenas.data[i].address == address)
			return true;
	}
	return false;
}

static bool is_in_call(const struct address_space *space, const struct address_thread *thread)
{
	bool x86 = space->machine == EM_X86_64;
	uint16_t x86_code = 0;
	uint32_t arm_code = 0;
	if (x86)
		return address_space_read(space, thread->pc - sizeof(x86_code), &x86_code,
			       sizeof(x86_code)) == sizeof(x86_code) &&
		       x86_code == X86_SYSCALL;
	return address_space_read(space, thread->pc - sizeof(arm_code), &arm_code,
		       sizeof(arm_code)) == sizeof(arm_code) &&
	       arm_code == ARM_SVC;
}

/* An arena begins with its lock. */
static bool waits_for_arena(const struct heap *heap, const struct address_thread *thread)
{
	return heap->space->machine == EM_X86_64 &&
	       thread->registers[X86_SYSTEM_CALL] == X86_FUTEX &&
	       is_arena(heap, thread->registers[X86_RDI]);
}

static bool may_be_freeing(const struct heap *heap, const struct address_thread *thread)
{
	const struct address_space *space = heap->space;
	if (!heap->glibc.arenas.len || !thread->stopped)
		return false;
	return glibc_has_code(&heap->glibc, thread->pc) &&
	       (!is_in_call(space, thread) || waits_for_arena(heap, thread));
}

/* Whether a word is the address of a chunk that is in use. */
static bool is_chunk(const struct heap *heap, uint64_t word)
{
	uint64_t head, next;
	const struct heap_area *area = heap_areas_find(&heap->areas, word);
	if (!area || area->allocator != HEAP_GLIBC || word % CHUNK_ALIGN ||
		!address_space_word(heap->space, word + 8, &head))
		return false;
	if (area->kind == GLIBC_MAPPED)
		return area->data == word;
	return glibc_chain_is(heap->space, word, area->end, CHAIN) &&
	       address_space_word(heap->space, word + chunk_size(head) + 8, &next) &&
	       next & CHUNK_PREV_INUSE;
}

bool freeing_add_roots(const struct heap *heap, uint32_t number, struct heap_root_vec *roots)
{
	const struct address_thread *thread = &heap->space->threads.data[number];
	uint64_t words[STACK_WORDS];
	bool ok = true;
	if (!may_be_freeing(heap, thread))
		return true;
	unsigned count = heap->space->machine == EM_X86_64 ? X86_REGISTERS : ARM_REGISTERS;
	for (unsigned i = 0; ok && i < count; i++) {
		uint64_t word = thread->registers[i];
		struct heap_root root = {
			HEAP_ROOT_REGISTERS, 0, 0, number, NULL, 1, word + CHUNK_HEAD};
		ok = !is_chunk(heap, word) || heap_root_vec_push(roots, root);
	}
	uint64_t sp = thread->sp & ~7ull;
	size_t got = address_space_read(heap->space, sp, words, sizeof(words)) / 8;
	for (size_t i = 0; ok && i < got; i++) {
		uint64_t at = sp + 8 * i;
		struct heap_root root = {
			HEAP_ROOT_STACK, at, at + 8, number, NULL, 1, words[i] + CHUNK_HEAD};
		ok = !is_chunk(heap, words[i]) || heap_root_vec_push(roots, root);
	}
	return ok;
}
