/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words that a thread has in its registers and innermost frames: what nothing else leads to
 * while an allocator moves it from one list into another. */
#ifndef HEAP_THREAD_WORDS_H
#define HEAP_THREAD_WORDS_H

#include "process/address_space.h"

#define THREAD_WORDS_STACK_WORDS 128u

struct thread_words {
	uint64_t words[CORE_REGISTERS_MAX + THREAD_WORDS_STACK_WORDS];
	size_t count;
};

/* Of a stopped thread: its registers for general use, then this many words of its stack, at most
 * THREAD_WORDS_STACK_WORDS, from the stack pointer on. */
void thread_words_read(const struct address_space *space, const struct address_thread *thread,
	size_t stack_words, struct thread_words *ret);

#endif
