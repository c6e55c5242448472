/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that thread-local variables hold, of the program, of a library that it is linked with
 * (LINKED), and of one that it loads (LOADED), whose path is $LIBRARY; in the account they are
 * called by thread (its index: 0 is the first) and variable.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "account.h"
#include "thread_local.h"

ACCOUNT_DEFINE;

#define THREADS 3

struct node {
	struct node *next;
	void *back;
	long values[5];
};
struct pair {
	long number;
	struct node *first, *second;
};

static __thread struct node *list;
static __thread struct pair pair;
static __thread char padding[100] = "what it begins with";
__thread struct node *shown __attribute__((aligned(64)));

static pthread_barrier_t all_there;
static pthread_t threads[THREADS];

static struct node *make(unsigned thread, const char *variable)
{
	struct node *node = calloc(1, sizeof(*node));
	thread_local_account(node, sizeof(*node), thread, variable);
	return node;
}

static void fill(unsigned thread, void (*later)(unsigned))
{
	static __thread struct node *inner;
	for (unsigned i = 0; i < 3; i++) {
		struct node *node = make(thread, i ? "list, behind" : "list");
		if (i) {
			node->next = list->next;
			list->next = node;
		} else {
			list = node;
		}
	}
	pair.first = make(thread, "pair + 8");
	pair.second = make(thread, "pair + 16");
	shown = make(thread, "shown");
	shown->back = &pair.second;
	inner = make(thread, "inner");
	padding[thread] = '.';
	__asm__ volatile("" : : "r"(&inner), "r"(&pair), "r"(padding) : "memory");
#ifdef LINKED
	linked_fill(thread);
#endif
	if (later)
		later(thread);
}

struct work {
	unsigned thread;
	void (*later)(unsigned);
};

/* Nothing of what fill() had in its hands stays on the stack. */
static __attribute__((noinline)) void wipe(void)
{
	char bytes[8192];
	memset(bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

static __attribute__((noinline)) void run(const struct work *work)
{
	fill(work->thread, work->later);
	wipe();
}

static void *begin(void *argument)
{
	run(argument);
	pthread_barrier_wait(&all_there);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	static struct work works[THREADS];
	void (*later)(unsigned) = NULL;
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
#ifdef LOADED
	void *library = dlopen(getenv("LIBRARY"), RTLD_NOW);
	if (library)
		*(void **)&later = dlsym(library, "loaded_fill");
	if (!later)
		return 1;
#endif
	pthread_barrier_init(&all_there, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		works[i] = (struct work){i, later};
	for (unsigned i = 1; i < THREADS; i++)
		pthread_create(&threads[i], NULL, begin, &works[i]);
	run(&works[0]);
	pthread_barrier_wait(&all_there);
	account_end();
	return 0;
}
