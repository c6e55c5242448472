// SPDX-License-Identifier: GPL-2.0-or-later
/* An extension for Python (no Python.h: what it needs is declared here, or is loaded with ctypes).
 * It takes memory from malloc and its like, and calls Python back. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Each is a site of its own: the sizes tell them apart. */
void *taker_malloc(size_t bytes)
{
	void *block = malloc(bytes);
	if (block)
		memset(block, 1, bytes);
	return block;
}

void *taker_calloc(size_t bytes)
{
	return calloc(1, bytes);
}

void *taker_realloc(void *block, size_t bytes)
{
	return realloc(block, bytes);
}

void *taker_mmap(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

typedef void callback(size_t bytes);

/* Calls back, then allocates: the Python frames inward of the caller have left the stack. */
void *taker_around(callback *called, size_t bytes)
{
	called(bytes + 1);
	return malloc(bytes);
}

struct thread_work {
	callback *called;
	size_t bytes;
};

static void *thread_main(void *argument)
{
	struct thread_work *work = argument;
	work->called(work->bytes);
	return NULL;
}

/* A thread that Python does not know, and that enters it. */
int taker_thread(callback *called, size_t bytes)
{
	struct thread_work work = {called, bytes};
	pthread_t thread;
	if (pthread_create(&thread, NULL, thread_main, &work))
		return 1;
	return pthread_join(thread, NULL);
}

static struct thread_work aside_work;
static ucontext_t aside_from, aside_to;

static void aside_main(void)
{
	aside_work.called(aside_work.bytes);
}

/* Calls back on a stack of its own, as coroutines of C do: who called is not to be seen there. */
int taker_aside(callback *called, size_t bytes)
{
	static char stack[1 << 20];
	aside_work = (struct thread_work){called, bytes};
	if (getcontext(&aside_to))
		return 1;
	aside_to.uc_stack.ss_sp = stack;
	aside_to.uc_stack.ss_size = sizeof(stack);
	aside_to.uc_link = &aside_from;
	makecontext(&aside_to, aside_main, 0);
	return swapcontext(&aside_from, &aside_to);
}

static size_t signal_bytes;

static void handle_signal(int signal)
{
	(void)signal;
	taker_malloc(signal_bytes);
}

/* Allocates in a handler of a signal. */
int taker_signal(size_t bytes)
{
	struct sigaction action = {.sa_handler = handle_signal};
	signal_bytes = bytes;
	return sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1);
}
