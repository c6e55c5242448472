/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gperftools/gperftools#1094 (a handler of fatal signals that allocates): stack overflows in
 * threads, handled on an alternate stack by a handler that allocates and leaves by siglongjmp.
 */
#include "stress.h"
#include <setjmp.h>
#include <signal.h>

TRUTH_SITE(site_in_handler)
TRUTH_SITE(site_after)

static __thread sigjmp_buf back;

static void handler(int number)
{
	(void)number;
	truth_free(site_in_handler(201));
	siglongjmp(back, 1);
}

TRUTH_FRAME static unsigned overflow(unsigned depth)
{
	volatile char space[2000];
	space[0] = (char)depth;
	return depth ? overflow(depth + 1) + (unsigned)space[0] : 0;
}

static void *body(void *argument)
{
	static __thread char alternate[32768];
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < 10; i++) {
		if (!sigsetjmp(back, 1))
			overflow(1);
		truth_free(site_after(31 + i));
	}
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	return argument;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	sigaction(SIGSEGV, &action, NULL);
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		truth_need(!pthread_create(&threads[i], &small, body, NULL), "pthread_create");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
