/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Grows when it is told to: lists of globals and of a thread, of which one shrinks, a table, a
 * tree, and what is lost. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
	struct session *next;
	char *name;
	long pad[3];
};
struct entry {
	struct entry *next;
	void *data;
};
struct odd {
	struct odd *left, *right;
	double weight;
};

static struct session *sessions;
static struct entry *cache;
static struct odd *tree;
static char **table;
static int table_count;
static __thread struct entry *local;
static pthread_barrier_t begin, end;
static int local_count;

static void add_sessions(int count)
{
	for (int i = 0; i < count; i++) {
		struct session *one = calloc(1, sizeof(*one));
		one->next = sessions;
		one->name = malloc(40);
		sprintf(one->name, "session number %d here", i);
		sessions = one;
	}
}

static struct entry *new_entry(struct entry *next, size_t bytes)
{
	struct entry *one = calloc(1, sizeof(*one));
	one->next = next;
	one->data = malloc(bytes);
	memset(one->data, 0x11, bytes);
	return one;
}

static void add_odds(int count)
{
	for (int i = 0; i < count; i++) {
		struct odd *one = calloc(1, sizeof(*one));
		one->weight = 1.5;
		*(i % 2 ? &one->left : &one->right) = tree;
		tree = one;
	}
}

static void add_texts(int count)
{
	for (int i = 0; i < count; i++)
		table[table_count++] = strdup("a text in the table of texts");
}

static void *work(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&begin);
		for (int i = 0; i < local_count; i++)
			local = new_entry(local, 64);
		pthread_barrier_wait(&end);
	}
	return unused;
}

static void let_work(int count)
{
	local_count = count;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
}

static void lose(int count)
{
	for (int i = 0; i < count; i++)
		memset(malloc(504), 0x22, 504);
}

static void wait_here(void)
{
	puts("ready");
	fflush(stdout);
	getchar();
}

int main(void)
{
	pthread_t thread;
	setvbuf(stdin, NULL, _IONBF, 0);
	pthread_barrier_init(&begin, NULL, 2);
	pthread_barrier_init(&end, NULL, 2);
	pthread_create(&thread, NULL, work, NULL);
	table = malloc(5000 * sizeof(*table));
	add_sessions(1000);
	for (int i = 0; i < 500; i++)
		cache = new_entry(cache, 1000);
	add_odds(2000);
	add_texts(100);
	let_work(300);
	wait_here();
	add_sessions(700);
	for (int i = 0; i < 200; i++) {
		struct entry *one = cache;
		cache = one->next;
		free(one->data);
		free(one);
	}
	add_odds(1);
	add_texts(250);
	let_work(50);
	lose(10);
	wait_here();
}
