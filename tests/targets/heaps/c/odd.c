/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a heap may be like that few have, by $ODD: "unforked", whose only pointer to a block is in
 * memory that forks leave out; "vfork", whose second thread can't be stopped; "overrun", whose last
 * small block was written beyond its end up to the end of the heap; "circle", where a block was
 * freed twice; "crowd", which has hundreds of threads. It writes "ready" and waits, or dies.
 * Nothing is lost in any of them.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCKS 300
#define CROWD 400

struct record {
	struct record *next;
	char text[48];
};

static struct record *volatile list;
static void **unforked;
static __thread struct record *volatile own;
static int waiting[2];

static struct record *make(unsigned count)
{
	struct record *made = NULL;
	for (unsigned i = 0; i < count; i++) {
		struct record *one = calloc(1, sizeof(*one));
		one->next = made;
		made = one;
	}
	return made;
}

static void *work(void *unused)
{
	struct record *freed = make(7);
	(void)unused;
	own = make(3);
	while (freed) {
		struct record *next = freed->next;
		free(freed);
		freed = next;
	}
	/* Until the child has executed something, its parent's thread is in the kernel. */
	if (!vfork()) {
		char byte = '\n';
		close(waiting[1]); /* so it ends with its parent */
		(void)!write(STDOUT_FILENO, "ready", 5);
		(void)!write(STDOUT_FILENO, &byte, 1);
		(void)!read(waiting[0], &byte, 1);
		_exit(0);
	}
	return NULL;
}

static void *idle(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void wait_ready(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

int main(void)
{
	const char *what = getenv("ODD") ? getenv("ODD") : "";
	pthread_t thread;
	if (!strcmp(what, "vfork")) {
		if (pipe(waiting) || pthread_create(&thread, NULL, work, NULL))
			return 1;
		for (;;)
			pause();
	}
	list = make(BLOCKS);
	if (!strcmp(what, "unforked")) {
		unforked = mmap(
			NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (unforked == MAP_FAILED || madvise(unforked, 4096, MADV_DONTFORK))
			return 1;
		unforked[0] = make(1);
		wait_ready();
	}
	if (!strcmp(what, "crowd")) {
		for (unsigned i = 0; i < CROWD; i++) {
			if (pthread_create(&thread, NULL, idle, NULL))
				return 1;
		}
		wait_ready();
	}
	if (!strcmp(what, "circle")) {
		/* So that no compiler sees what is done here. */
		volatile uintptr_t address = (uintptr_t)malloc(72);
		free((void *)address);
		((volatile uintptr_t *)address)[1] = 0; /* by which libc knows that it was freed */
		free((void *)address);
		raise(SIGABRT);
	}
	if (!strcmp(what, "overrun")) {
		/* Rings of free chunks, which lie behind. */
		void *blocks[60];
		for (unsigned i = 0; i < 60; i++)
			blocks[i] = malloc(1100 + 40 * i);
		for (unsigned i = 0; i < 60; i += 3)
			free(blocks[i]);
		free(malloc(100000));
		volatile char *end = sbrk(0);
		for (volatile char *at = list->text; at < end; at++)
			*at = 'B';
		raise(SIGABRT);
	}
	return 1;
}
