/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A signal before the first instruction of a function: that one is interrupted, not the one that
 * ends where it begins. */
#include "truth.h"
#include <signal.h>
#include <ucontext.h>

TRUTH_SITE(site_in_handler)

void ends_before(void);
void trap_first(void);

__asm__(".text\n"
	".globl ends_before, trap_first\n"
	".type ends_before, @function\n"
	"ends_before:\n"
	"	.cfi_startproc\n"
	"	push %rax\n"
	"	.cfi_def_cfa_offset 16\n"
	"	call abort@PLT\n"
	"	.cfi_endproc\n"
	".size ends_before, . - ends_before\n"
	".type trap_first, @function\n"
	"trap_first:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size trap_first, . - trap_first\n");

static void handler(int number, siginfo_t *information, void *context)
{
	truth_need(number == SIGILL && information, "number");
	truth_free(site_in_handler(821));
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
	TRUTH_STAY();
}

TRUTH_FRAME static void caller(void)
{
	trap_first();
	TRUTH_STAY();
}

int main(int count, char **arguments)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGILL, &action, NULL);
	if (count < 1 || !arguments)
		ends_before();
	for (int i = 0; i < 20; i++)
		caller();
	truth_say("# expect: path site=site_in_handler chain=site_in_handler<handler<(signal)<"
		  "trap_first<caller<main");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
