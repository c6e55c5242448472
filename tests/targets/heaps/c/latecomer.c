/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many threads that wait; with each SIGUSR1 one more begins, takes a block, and says on a line
 * which one it has and who it is. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 32u
#define BLOCK 1237u

static pthread_barrier_t begun;

static void *wait_only(void *context)
{
	void *volatile held = malloc(BLOCK);
	(void)context;
	pthread_barrier_wait(&begun);
	while (held)
		pause();
	return NULL;
}

static void *take_late(void *context)
{
	void *volatile held = malloc(BLOCK);
	(void)context;
	printf("%p %d\n", held, gettid());
	fflush(stdout);
	while (held)
		pause();
	return NULL;
}

static void start(void *(*work)(void *))
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, NULL))
		abort();
}

int main(void)
{
	sigset_t set;
	int signal;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_barrier_init(&begun, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		start(wait_only);
	pthread_barrier_wait(&begun);
	puts("ready");
	fflush(stdout);
	while (!sigwait(&set, &signal))
		start(take_late);
	return 1;
}
