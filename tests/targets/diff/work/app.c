/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two builds of one program, the newer one with NEWER: in each view of a report something is other,
 * and it has the name of a function, a thread or a size. test_report_base.py compares them.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <story.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef NEWER
#define OLD_OR_NEW(older, newer) (newer)
#else
#define OLD_OR_NEW(older, newer) (older)
#endif

static void *volatile sink;

static void touch(void *block)
{
	sink = block;
}

#ifdef NEWER
APART static void leaks(void)
{
	xalloc(6, 211);
}
#else
APART static void stale(void)
{
	xalloc(4, 79);
}
#endif

APART static void churns(void)
{
	for (int i = 0; i < OLD_OR_NEW(40, 400); i++) {
		void *block = malloc(61);
		touch(block);
		free(block);
	}
}

APART static void peaks(void)
{
	void *block = malloc(OLD_OR_NEW(100003, 300007));
	touch(block);
	free(block);
}

/* Doubles its buffer; the newer one adds 16 bytes at a time. */
APART static void appends(void)
{
	size_t size = 16;
	char *buffer = malloc(size);
	while (size < 4096) {
		size = OLD_OR_NEW(size * 2, size + 16);
		buffer = realloc(buffer, size);
		touch(buffer);
	}
	free(buffer);
}

/* Blocks that outlive those of churns() in the newer build. */
APART static void holds(void)
{
	void *blocks[30];
	for (int i = 0; i < 30; i++) {
		blocks[i] = malloc(47);
		touch(blocks[i]);
		if (OLD_OR_NEW(1, 0))
			free(blocks[i]);
	}
	churns();
	for (int i = 0; i < 30 && !OLD_OR_NEW(1, 0); i++)
		free(blocks[i]);
}

static sem_t worked, leave;

static void *work(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 50; i++) {
		void *block = malloc(131);
		touch(block);
		free(block);
	}
	sem_post(&worked);
	sem_wait(&leave);
	return NULL;
}

/* One after the other, so that their order is known; then they stay until a recorder has read their
 * names. */
APART static void works(void)
{
	static const char *const names[] = {
		"worker", "worker", OLD_OR_NEW("logger", "worker"), "net"};
	pthread_t threads[4];
	int count = OLD_OR_NEW(3, 4);
	sem_init(&worked, 0, 0);
	sem_init(&leave, 0, 0);
	for (int i = 0; i < count; i++) {
		pthread_create(&threads[i], NULL, work, (void *)names[i]);
		sem_wait(&worked);
	}
	usleep(100000);
	for (int i = 0; i < count; i++)
		sem_post(&leave);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

APART static void forks(void)
{
	pid_t child = fork();
	if (!child) {
		touch(malloc(3));
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(void)
{
	xalloc(10, 101);
#ifdef NEWER
	leaks();
#else
	stale();
#endif
	holds();
	peaks();
	appends();
	works();
	forks();
	return 0;
}
