/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coroutines that are switched out hold what is on their stacks, wherever these are: in a static
 * array, in mapped memory, in a block. So does the stack that was left for the coroutine that ends
 * the process. */
#include "leaks.h"
#include <sys/mman.h>
#include <ucontext.h>

LEAK_ROLE(on_static)
LEAK_ROLE(on_mapped)
LEAK_ROLE(on_block)
LEAK_ROLE(stack_block)
LEAK_ROLE(on_first_stack)
LEAK_ROLE(lost)

enum { STACK = 1 << 16 };

static ucontext_t first, contexts[4];
static char static_stack[STACK] __attribute__((aligned(16)));

TRUTH_FRAME static void hold(size_t number, void *(*role)(size_t), size_t bytes)
{
	void *volatile mine[3] = {role(bytes), role(bytes), role(bytes)};
	truth_need(!swapcontext(&contexts[number], &first), "swapcontext");
	(void)mine[0];
}

static void in_static(void)
{
	hold(0, on_static, 216);
}

static void in_mapped(void)
{
	hold(1, on_mapped, 232);
}

static void in_block(void)
{
	hold(2, on_block, 248);
}

static void last(void)
{
	leak_opaque(lost(280));
	leak_scrub();
	LEAKS_ARE(LEAK_REACHABLE, on_static);
	LEAKS_ARE(LEAK_REACHABLE, on_mapped);
	LEAKS_ARE(LEAK_REACHABLE, on_block);
	LEAKS_ARE(LEAK_REACHABLE, stack_block);
	LEAKS_ARE(LEAK_REACHABLE, on_first_stack);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	leaks_end();
	exit(0);
}

TRUTH_FRAME static void start(size_t number, void *stack, void (*run)(void))
{
	ucontext_t *context = &contexts[number];
	truth_need(!getcontext(context), "getcontext");
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK;
	context->uc_link = &first;
	makecontext(context, run, 0);
	truth_need(!swapcontext(&first, context), "swapcontext");
}

static void *map(void)
{
	void *memory =
		mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truth_need(memory != MAP_FAILED, "mmap");
	return memory;
}

int main(void)
{
	void *volatile mine = on_first_stack(264);
	start(0, static_stack, in_static);
	start(1, map(), in_mapped);
	start(2, stack_block(STACK), in_block);
	start(3, map(), last);
	(void)mine;
	return 1;
}
