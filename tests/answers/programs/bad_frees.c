/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frees that are wrong, one kind for each first argument; functions are named for what they do. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long global[8];

__attribute__((noinline)) static char *make(int size)
{
	char *block = malloc((size_t)size);
	memset(block, 1, (size_t)size);
	return block;
}

__attribute__((noinline)) static void free_first(char *block)
{
	free(block);
}

__attribute__((noinline)) static void free_again(char *block)
{
	free(block);
}

__attribute__((noinline)) static void free_stack(void)
{
	long local[40];
	memset(local, 0, sizeof(local));
	free(&local[2]);
}

__attribute__((noinline)) static void free_global(void)
{
	free(&global[4]);
}

__attribute__((noinline)) static void free_inside(char *block)
{
	free(block + 8);
}

static void *in_thread(void *block)
{
	free_first(block);
	return NULL;
}

static void twice(int size)
{
	char *block = make(size);
	free_first(block);
	free_again(block);
}

static void twice_by_two(void)
{
	char *block = make(100);
	pthread_t thread;
	pthread_create(&thread, NULL, in_thread, block);
	pthread_join(thread, NULL);
	free_again(block);
}

/* A child gives back what its parent allocated, as it may. */
static void of_parent(void)
{
	char *block = make(100);
	pid_t child = fork();
	if (!child) {
		free_first(block);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	free_first(block);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	for (int i = 0; i < 5 && argc < 3; i++) /* most programs free something right before */
		free(make(20 + i * 16));
	if (!strcmp(what, "small"))
		twice(100);
	else if (!strcmp(what, "large"))
		twice(5000);
	else if (!strcmp(what, "threads"))
		twice_by_two();
	else if (!strcmp(what, "stack"))
		free_stack();
	else if (!strcmp(what, "global"))
		free_global();
	else if (!strcmp(what, "inside"))
		free_inside(make(100));
	else if (!strcmp(what, "fork"))
		of_parent();
	return 0;
}
