/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/thread_words.h"

#include <elf.h>

#define X86_REGISTERS 15u
#define ARM_REGISTERS 31u

void thread_words_read(const struct address_space *space, const struct address_thread *thread,
	size_t stack_words, struct thread_words *ret)
{
	ret->count = space->machine == EM_X86_64 ? X86_REGISTERS : ARM_REGISTERS;
	for (size_t i = 0; i < ret->count; i++)
		ret->words[i] = thread->registers[i];
	ret->count += address_space_read(
			      space, thread->sp & ~7ull, ret->words + ret->count, 8 * stack_words) /
		      8;
}
