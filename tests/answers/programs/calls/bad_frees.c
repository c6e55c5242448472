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

/* What realloc gives is of no interest: it may end the program. */
__attribute__((noinline)) static void resize_wrong(void *block)
{
	void *volatile moved = realloc(block, 7000);
	(void)moved;
}

__attribute__((noinline)) static char *resize_first(char *block)
{
	char *volatile moved = realloc(block, 90000);
	return moved;
}

static void resize_and_free(void)
{
	char *block = make(100);
	char *behind = make(100);
	block[0] = *behind;
	free(resize_first(block));
	free_again(block);
	free(behind);
}

/* A child resizes what its parent allocated, as it may. */
static void resize_of_parent(void)
{
	char *block = make(100);
	pid_t child = fork();
	if (!child) {
		free(resize_first(block));
		_exit(0);
	}
	waitpid(child, NULL, 0);
	free_first(block);
}

/* A block that realloc has put where a large one was freed; a child frees it. */
static void resized_of_parent(void)
{
	char *large = make(5000);
	char *behind = make(100);
	free_first(large);
	char *small = make(1500);
	char *volatile moved = realloc(small, 5000);
	pid_t child = fork();
	if (!child) {
		free_first(moved);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	free_first(moved);
	free_first(behind);
}

static void resize_freed(int size)
{
	char *block = make(size);
	char *behind = make(100);
	free_first(block);
	resize_wrong(block);
	free(behind);
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
	else if (!strcmp(what, "resize-small"))
		resize_freed(100);
	else if (!strcmp(what, "resize-large"))
		resize_freed(5000);
	else if (!strcmp(what, "resize-inside"))
		resize_wrong(make(4000) + 32);
	else if (!strcmp(what, "resize-odd"))
		resize_wrong(make(4000) + 8);
	else if (!strcmp(what, "resize-wild"))
		resize_wrong((void *)0x123456780ul);
	else if (!strcmp(what, "resized"))
		resize_and_free();
	else if (!strcmp(what, "fork-resize"))
		resize_of_parent();
	else if (!strcmp(what, "fork-resized"))
		resized_of_parent();
	else if (!strcmp(what, "fork"))
		of_parent();
	return 0;
}
