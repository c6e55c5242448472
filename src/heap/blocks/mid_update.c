/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/mid_update.h"

#include <elf.h>
#include <signal.h>

#include "base/util.h"
#include "heap/blocks/thread_words.h"

#define STACK_WORDS 64u
/* A word of a user's registers (sys/user.h; of aarch64 x8), and
 * what precedes the next instruction of a thread in a system call. */
#define X86_SYSTEM_CALL 15u
#define ARM_SYSTEM_CALL 8u
#define X86_SYSCALL 0x050fu
#define ARM_SVC 0xd4000001u

/* mmap, mprotect, munmap, brk, mremap, madvise. */
static const uint64_t x86_calls[] = {9, 10, 11, 12, 25, 28};
static const uint64_t arm_calls[] = {222, 226, 215, 214, 216, 233};

static bool is_in_call(const struct address_space *space, const struct address_thread *thread)
{
	uint32_t code = 0;
	size_t bytes = space->machine == EM_X86_64 ? 2 : 4;
	return address_space_read(space, thread->pc - bytes, &code, bytes) == bytes &&
	       code == (space->machine == EM_X86_64 ? X86_SYSCALL : ARM_SVC);
}

static bool gets_memory(const struct address_space *space, const struct address_thread *thread)
{
	bool x86 = space->machine == EM_X86_64, found = false;
	uint64_t call = thread->registers[x86 ? X86_SYSTEM_CALL : ARM_SYSTEM_CALL];
	for (size_t i = 0; i < ARRAY_SIZE(x86_calls) && !found; i++)
		found = call == (x86 ? x86_calls : arm_calls)[i];
	return found;
}

/* What a thread dies of by what it does itself. */
static bool is_fatal(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGILL ||
	       signal == SIGFPE;
}

static bool has_at_hand(const struct address_space *space, const struct address_thread *thread,
	const uint64_t *addresses, size_t count)
{
	struct thread_words at_hand;
	thread_words_read(space, thread, STACK_WORDS, &at_hand);
	for (size_t i = 0; i < at_hand.count; i++) {
		for (size_t k = 0; k < count; k++) {
			if (at_hand.words[i] == addresses[k])
				return true;
		}
	}
	return false;
}

bool mid_update_any(const struct address_space *space, const uint64_t *addresses, size_t count,
	bool (*is_code)(const void *context, uint64_t pc), const void *context)
{
	for (size_t i = 0; i < space->threads.len; i++) {
		const struct address_thread *thread = &space->threads.data[i];
		if (thread->stopped && !is_fatal(thread->signal) &&
			(!is_code || is_code(context, thread->pc)) &&
			(!is_in_call(space, thread) || gets_memory(space, thread)) &&
			has_at_hand(space, thread, addresses, count))
			return true;
	}
	return false;
}
