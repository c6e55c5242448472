/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coroutines (makecontext): each stack is its own, ends at its own first function, and none mixes.
 */
#include "truth.h"
#include <ucontext.h>

TRUTH_SITE(site_left)
TRUTH_SITE(site_right)
TRUTH_SITE(site_main)

enum { TURNS = 200, STACK = 1 << 16 };

static ucontext_t main_context, left_context, right_context;
static char left_stack[STACK], right_stack[STACK];

TRUTH_FRAME static void left_step(size_t i)
{
	truth_free(site_left(201 + i));
	swapcontext(&left_context, &right_context);
	site_left(203);
	TRUTH_STAY();
}

TRUTH_FRAME static void right_step(size_t i)
{
	truth_free(site_right(205 + i));
	swapcontext(&right_context, i % 2 ? &main_context : &left_context);
	TRUTH_STAY();
}

static void left(void)
{
	for (size_t i = 0;; i++)
		left_step(i);
}

static void right(void)
{
	for (size_t i = 0;; i++)
		right_step(i);
}

static void prepare(ucontext_t *context, char *stack, void (*run)(void))
{
	truth_need(!getcontext(context), "getcontext");
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK;
	context->uc_link = &main_context;
	makecontext(context, run, 0);
}

int main(void)
{
	prepare(&left_context, left_stack, left);
	prepare(&right_context, right_stack, right);
	for (size_t i = 0; i < TURNS; i++) {
		site_main(207);
		swapcontext(&main_context, &left_context);
	}
	truth_say("# expect: path site=site_left chain=site_left<left_step<left");
	truth_say("# expect: path site=site_right chain=site_right<right_step<right");
	truth_say("# expect: path site=site_main chain=site_main<main");
	truth_say("# expect: whole site=site_left");
	truth_say("# expect: whole site=site_right");
	truth_say("# expect: frames site=site_left depth<=4");
	truth_say("# expect: frames site=site_right depth<=4");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
