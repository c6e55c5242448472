/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * koute/bytehound#60: coroutines that move between threads and are thrown away half way; a recorder
 * that rewrites return addresses, or remembers a stack, follows into freed memory.
 */
#include "stress.h"
#include <ucontext.h>

TRUTH_SITE(site_in_coroutine)

enum { STACK = 16384 };

static __thread ucontext_t caller, *current;

TRUTH_FRAME static void step(unsigned depth)
{
	if (depth) {
		step(depth - 1);
		TRUTH_STAY();
		return;
	}
	truth_free(site_in_coroutine(113));
	ucontext_t *self = current;
	swapcontext(self, &caller);
	TRUTH_STAY();
}

static void coroutine(void)
{
	for (unsigned i = 0;; i++)
		step(i % 12);
}

static void *body(void *argument)
{
	for (int round = 0; round < 20; round++) {
		ucontext_t context;
		char *stack = malloc(STACK);
		getcontext(&context);
		context.uc_stack.ss_sp = stack;
		context.uc_stack.ss_size = STACK;
		makecontext(&context, coroutine, 0);
		current = &context;
		for (int i = 0; i < 10; i++)
			swapcontext(&caller, &context);
		memset(stack, 0xa5, STACK);
		free(stack);
	}
	return argument;
}

int main(void)
{
	stress_threads(4, body, NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
