/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words that a thread has in its registers and innermost frames: what nothing else leads to
 * while an allocator moves it from one list into another. */
#ifndef HEAP_AT_HAND_H
#define HEAP_AT_HAND_H

#include "process/address_space.h"

#define AT_HAND_STACK_WORDS 128u

struct at_hand {
	uint64_t words[CORE_REGISTERS_MAX + AT_HAND_STACK_WORDS];
	size_t count;
};

/* Of a stopped thread: its registers for general use, then so many words of its stack, at most
 * AT_HAND_STACK_WORDS, from the stack pointer on. */
void at_hand_read(const struct address_space *space, const struct address_thread *thread,
	size_t stack_words, struct at_hand *ret);

#endif
