/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_sizes: allocates much at several depths of its stack: near the top, 1 MiB below, near the
 * top again; then a thread does 300 KiB below its own, and then main on the stack of a coroutine
 * and on an alternate signal stack, which are no part of a thread's.
 *
 *     # stack BYTES      so large was the stack of all threads that live, at a phase
 */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define PAIRS 300000
#define KIB 1024u

extern void *__libc_stack_end;

static void say(uintptr_t main_bytes, uintptr_t more)
{
	truth_say("# stack %lu", (unsigned long)(main_bytes + more));
}

static uintptr_t here(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

TRUTH_FRAME static void fill(void)
{
	for (unsigned i = 0; i < PAIRS; i++) {
		void *volatile block = malloc(16);
		free(block);
	}
}

/* `kib` below the caller. */
TRUTH_FRAME static uintptr_t fill_below(unsigned kib)
{
	volatile char space[KIB] __attribute__((unused));
	space[0] = 0;
	uintptr_t deepest = kib ? fill_below(kib - 1) : (fill(), here());
	space[KIB - 1] = 0;
	return deepest;
}

static void *work(void *argument)
{
	uintptr_t own = (uintptr_t)pthread_self() - fill_below(300);
	say((uintptr_t)__libc_stack_end - (uintptr_t)argument, own);
	return NULL;
}

static ucontext_t main_context, other_context;

static void on_coroutine(void)
{
	fill_below(10);
}

static void on_signal(int number)
{
	(void)number;
	fill_below(10);
}

int main(void)
{
	uintptr_t top = (uintptr_t)__libc_stack_end;
	fill();
	say(top - here(), 0);
	say(top - fill_below(1024), 0);
	fill();
	say(top - here(), 0);
	pthread_t thread;
	truth_need(!pthread_create(&thread, NULL, work, (void *)here()), "a thread");
	pthread_join(thread, NULL);
	size_t bytes = 64 * KIB;
	char *stacks =
		mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truth_need(stacks != MAP_FAILED, "memory");
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stacks;
	other_context.uc_stack.ss_size = bytes;
	other_context.uc_link = &main_context;
	makecontext(&other_context, on_coroutine, 0);
	swapcontext(&main_context, &other_context);
	const stack_t alternate = {.ss_sp = stacks + bytes, .ss_size = bytes};
	sigaltstack(&alternate, NULL);
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	fill();
	say(top - here(), 0);
	truth_say("# end");
	return 0;
}
