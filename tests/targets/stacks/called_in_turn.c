/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One function allocates for many, whose frames are alike, so that each of its calls begins at the
 * same stack pointer; two stacks of coroutines at the same place, of which the second one has no
 * more what the first one's callers stood on. */
#include "truth.h"

#include <sys/mman.h>
#include <ucontext.h>

TRUTH_SITE(site_wrapped)
TRUTH_SITE(site_deep)

enum {
	TURNS = 40,
	PAGE_BYTES = 4096,
	STACK_PAGES = 16,
	LEVELS = 12,
	FEWER = 3,
	LEVEL_BYTES = 1000
};

TRUTH_FRAME static void *wrapper(size_t size)
{
	void *block = site_wrapped(size);
	TRUTH_STAY();
	return block;
}

#define CALLER(name)                                                                               \
	TRUTH_FRAME static void name(size_t size)                                                  \
	{                                                                                          \
		truth_free(wrapper(size));                                                         \
		TRUTH_STAY();                                                                      \
	}
CALLER(first)
CALLER(second)
CALLER(third)
CALLER(fourth)

/* Their stacks differ only in the third return address and those after it. */
#define OUTER(name, more)                                                                          \
	TRUTH_FRAME static void name(size_t turn)                                                  \
	{                                                                                          \
		(turn % 4 == 0          ? first                                                    \
			: turn % 4 == 1 ? second                                                   \
			: turn % 4 == 2 ? third                                                    \
					: fourth)((more) + turn);                                  \
		TRUTH_STAY();                                                                      \
	}
OUTER(even, 101)
OUTER(odd, 102)

static const char *const callers[] = {"first", "second", "third", "fourth"};

static ucontext_t main_context, stack_context;
static int levels;
static uintptr_t stood_at; /* where the last frame of deep() was */

TRUTH_FRAME static void deep(int level)
{
	volatile char own[LEVEL_BYTES];
	own[0] = 1;
	if (level > 1) {
		deep(level - 1);
	} else {
		stood_at = (uintptr_t)own;
		for (int i = 0; i < 3; i++)
			truth_free(site_deep(301));
	}
	own[1] = own[0];
	TRUTH_STAY();
}

static void run_deep(void)
{
	deep(levels);
	TRUTH_STAY();
}

static void run_on(char *stack, size_t bytes, int level_count)
{
	levels = level_count;
	truth_need(!getcontext(&stack_context), "getcontext");
	stack_context.uc_stack.ss_sp = stack;
	stack_context.uc_stack.ss_size = bytes;
	stack_context.uc_link = &main_context;
	makecontext(&stack_context, run_deep, 0);
	swapcontext(&main_context, &stack_context);
}

/* The second stack ends where the first one's callers were, in memory that is gone. */
static void reuse_stack(void)
{
	size_t bytes = STACK_PAGES * (size_t)PAGE_BYTES, half = bytes / 2;
	char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truth_need(stack != MAP_FAILED, "mmap");
	run_on(stack, half, FEWER);
	uintptr_t wanted = stood_at; /* on a stack of half the size */
	run_on(stack, bytes, LEVELS);
	/* So far down that its innermost frame is there, too. */
	run_on(stack, bytes - (stood_at - wanted), LEVELS);
	truth_need(stood_at == wanted, "the same place");
	truth_need(!munmap(stack + half, half), "munmap");
	run_on(stack, half, FEWER);
	truth_need(stood_at == wanted, "the same place again");
}

int main(void)
{
	for (size_t i = 0; i < TURNS; i++) {
		even(i);
		odd(i + 1);
		odd(i);
	}
	reuse_stack();
	truth_say("# expect: through=even allocations=40");
	truth_say("# expect: through=odd allocations=80");
	for (size_t i = 0; i < 4; i++)
		truth_say("# expect: through=%s allocations=30", callers[i]);
	truth_say("# expect: path site=site_deep chain=site_deep<deep<run_deep");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
