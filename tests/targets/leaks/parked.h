/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of a target that stay where they are until the process ends. */
#ifndef TARGETS_LEAKS_PARKED_H
#define TARGETS_LEAKS_PARKED_H

#include "leaks.h"
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

static sem_t parked_threads;

TRUTH_UNUSED static int parked_at; /* a futex that nobody wakes */

/* Says that this thread has got where it stays. */
static inline void parked_say(void)
{
	truth_need(!sem_post(&parked_threads), "sem_post");
}

__attribute__((noreturn)) TRUTH_UNUSED TRUTH_FRAME static void park_frame(void)
{
	leak_scrub();
	parked_say();
	for (;;)
		pause();
}

/* Stays. Nothing is left of what the thread did before, except in the frames of its callers. The
 * registers are scrubbed before there is a frame: clang aligns one by a push of whatever rax is. */
#define park()                                                                                     \
	do {                                                                                       \
		LEAK_SCRUB_REGISTERS();                                                            \
		park_frame();                                                                      \
	} while (0)

TRUTH_UNUSED static pthread_t parked_start(void *(*run)(void *), void *argument)
{
	pthread_t thread;
	leak_loader_allocates = 1;
	truth_need(!pthread_create(&thread, NULL, run, argument), "pthread_create");
	return thread;
}

/* Waits until so many have said that they are there. */
TRUTH_UNUSED static void parked_wait(unsigned threads)
{
	while (threads) {
		if (!sem_wait(&parked_threads))
			threads--;
	}
}

/* As a part of inline assembly: waits for ever at the futex whose address is in rdi. What it needs
 * it takes from rax, rcx, rdx, rsi, r10 and r11. */
#define PARKED_ASSEMBLY                                                                            \
	"1:\n\t"                                                                                   \
	"mov $202, %%eax\n\t"  /* futex */                                                         \
	"xor %%esi, %%esi\n\t" /* FUTEX_WAIT */                                                    \
	"xor %%edx, %%edx\n\t"                                                                     \
	"xor %%r10d, %%r10d\n\t"                                                                   \
	"syscall\n\t"                                                                              \
	"jmp 1b\n\t"

#endif
