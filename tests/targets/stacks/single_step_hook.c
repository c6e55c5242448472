/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A handler that allocates and frees after each single instruction of whatever stands in front of
 * libc's allocation functions: a recorder's event interrupted anywhere by another one. Both are
 * counted, and the stacks of both are right. Without a recorder nothing is stepped through.
 */
#include "truth.h"
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <ucontext.h>

TRUTH_SITE(site_in_handler)
TRUTH_SITE(site_stepped)
TRUTH_SITE_AS(site_stepped_calloc, (size_t bytes), bytes, calloc(1, bytes))
TRUTH_SITE_REALLOC(site_stepped_realloc)

static uint64_t hook_start, hook_end;
static volatile unsigned steps, steps_now;

/* An event that is under way for tenths of a second is no longer waited for. */
enum { STEPS_MAX = 6000, TRAP_FLAG = 0x100 };

static void handler(int number, siginfo_t *information, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t at = (uint64_t)registers[REG_RIP];
	truth_need(number == SIGTRAP && information, "number");
	if (at - hook_start >= hook_end - hook_start)
		return;
	truth_free(site_in_handler(911 + steps % 7));
	steps++;
	if (++steps_now == STEPS_MAX)
		registers[REG_EFL] &= ~TRAP_FLAG;
	TRUTH_STAY();
}

void step_on(void);
void step_off(void);

#define STEP(name, change)                                                                         \
	__asm__(".text\n"                                                                          \
		".type " #name ", @function\n" #name ":\n"                                         \
		"	.cfi_startproc\n"                                                                \
		"	pushf\n"                                                                         \
		"	.cfi_adjust_cfa_offset 8\n"                                                      \
		"	" change ", (%rsp)\n"                                                      \
		"	popf\n"                                                                          \
		"	.cfi_adjust_cfa_offset -8\n"                                                     \
		"	ret\n"                                                                           \
		"	.cfi_endproc\n"                                                                  \
		".size " #name ", . - " #name "\n")

STEP(step_on, "orq $0x100");
STEP(step_off, "andq $~0x100");

TRUTH_FRAME static void stepped(size_t bytes)
{
	steps_now = 0;
	step_on();
	void *one = site_stepped(bytes);
	void *two = site_stepped_calloc(bytes + 2);
	one = site_stepped_realloc(one, bytes * 2);
	truth_free(two);
	truth_free(one);
	step_off();
	TRUTH_STAY();
}

TRUTH_FRAME static void deeper(size_t bytes, unsigned levels)
{
	if (levels)
		deeper(bytes, levels - 1);
	else
		stepped(bytes);
	TRUTH_STAY();
}

/* The object that malloc is found in, unless that is libc. */
static void find_hook(void)
{
	struct dl_find_object found;
	void *hook = dlsym(RTLD_DEFAULT, "malloc");
	if (!hook || _dl_find_object(hook, &found) || strstr(found.dlfo_link_map->l_name, "/libc."))
		return;
	hook_start = (uint64_t)found.dlfo_map_start;
	hook_end = (uint64_t)found.dlfo_map_end;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGTRAP, &action, NULL);
	find_hook();
	for (unsigned i = 0; i < 8; i++)
		deeper(913 + i, i % 4 * 3);
	if (steps)
		truth_say("# expect: path site=site_in_handler chain=site_in_handler<handler<"
			  "(signal)<stepped<deeper<main");
	truth_say("# expect: path site=site_stepped chain=site_stepped<stepped<deeper<main");
	truth_say("# expect: path site=site_stepped_realloc chain=site_stepped_realloc<stepped<"
		  "deeper<main");
	truth_end(TRUTH_PLAIN);
	return 0;
}
