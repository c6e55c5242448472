/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signal handlers that allocate, on the thread's stack and on one of their own, at safe points. */
#include "truth.h"
#include <signal.h>

TRUTH_SITE(site_in_handler)
TRUTH_SITE(site_on_own_stack)
TRUTH_SITE(site_main)

static void handler(int number)
{
	truth_need(number == SIGUSR1, "number");
	truth_free(site_in_handler(331));
	site_in_handler(333);
	TRUTH_STAY();
}

static void handler_elsewhere(int number, siginfo_t *information, void *context)
{
	truth_need(number == SIGUSR2 && information && context, "number");
	site_on_own_stack(335);
	TRUTH_STAY();
}

TRUTH_FRAME static void interrupt_usual(void)
{
	raise(SIGUSR1);
	TRUTH_STAY();
}

TRUTH_FRAME static void interrupt_elsewhere(void)
{
	raise(SIGUSR2);
	TRUTH_STAY();
}

int main(void)
{
	static char own_stack[1 << 16];
	stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
	struct sigaction usual = {.sa_handler = handler};
	struct sigaction elsewhere = {
		.sa_sigaction = handler_elsewhere, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &usual, NULL);
	sigaction(SIGUSR2, &elsewhere, NULL);
	for (size_t i = 0; i < 50; i++) {
		void *block = site_main(337 + i);
		interrupt_usual();
		interrupt_elsewhere();
		truth_free(block);
	}
	truth_say("# expect: path site=site_in_handler chain=site_in_handler<handler<"
		  "(signal)<interrupt_usual<main");
	truth_say("# expect: path site=site_on_own_stack chain=site_on_own_stack<"
		  "handler_elsewhere<(signal)<interrupt_elsewhere<main");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
