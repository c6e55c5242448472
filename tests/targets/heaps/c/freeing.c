/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that have nothing but the address of a block's chunk, 16 bytes before it, as free() has
 * at times: one is in libc, one in the program, one sleeps in a system call of libc's. */
#include <pthread.h>

#include "account.h"

ACCOUNT_DEFINE;

/* So large that a thread is in memchr() whenever somebody looks. */
#define ZEROS_BYTES (256u << 20)

enum place { IN_LIBC, IN_PROGRAM, IN_CALL, PLACES };

struct work {
	uintptr_t chunk; /* inverted */
	enum place place;
	pthread_barrier_t *begun;
};

static const char *zeros;
static int never[2];

/* With the address in a register that functions keep. */
static void *work(void *argument)
{
	struct work work = *(struct work *)argument;
	pthread_barrier_wait(work.begun);
	register uintptr_t chunk __asm__("r12") = ~work.chunk;
	__asm__ volatile("" : "+r"(chunk));
	char byte = 0;
	while (work.place == IN_PROGRAM)
		__asm__ volatile("" : "+r"(chunk));
	if (work.place == IN_CALL)
		byte = (char)read(never[0], &byte, 1);
	while (work.place == IN_LIBC && !memchr(zeros, 1, ZEROS_BYTES))
		__asm__ volatile("" : "+r"(chunk));
	__asm__ volatile("" : "+r"(chunk));
	return (void *)(uintptr_t)(unsigned char)byte;
}

/* What was on the stack before is gone. */
static __attribute__((noinline)) void scrub(void)
{
	volatile char bytes[16384];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0;
}

static __attribute__((noinline)) uintptr_t make(size_t size, char leak)
{
	void *block = malloc(size);
	memset(block, 0, size);
	account(block, size, leak, leak == 'r' ? "held" : "lost");
	return ~((uintptr_t)block - 16);
}

int main(int argc, char **argv)
{
	static struct work works[PLACES];
	pthread_barrier_t begun;
	pthread_t threads[PLACES];
	account_open(argc, argv);
	zeros = mmap(
		NULL, ZEROS_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (zeros == MAP_FAILED || pipe(never) < 0)
		return 2;
	pthread_barrier_init(&begun, NULL, PLACES + 1);
	for (enum place i = 0; i < PLACES; i++) {
		works[i] = (struct work){make(1000 + 32 * i, i == IN_LIBC ? 'r' : 'd'), i, &begun};
		pthread_create(&threads[i], NULL, work, &works[i]);
	}
	pthread_barrier_wait(&begun);
	/* Until they are where they stay. */
	for (int i = 0; i < 3; i++) {
		if (memchr(zeros, 1, ZEROS_BYTES))
			return 2;
	}
	scrub();
	account_end();
	return 0;
}
