/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that only declarations name, more of each kind than types were once followed for:
 *   leafg 30,000 from a global table      leafh 2,000 from the end of an array of 5,000,000
 *   leafs 10,000 from an array on a stack leafw 2,000 from an array in a structure
 *   leafe 3 from elements of 1 MiB each   item and leafr 70,000 each, which must be read
 *   twin and mate 6,000 each, which look alike: two pointers in 24 bytes
 *   local 1,000 from variables of a recursion, mine 300 from one variable each of 300 threads
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct leafg {
	long a;
	double b;
	int c;
};
struct leafh {
	int v[10];
};
struct leafs {
	int v[14];
};
struct leafw {
	int v[18];
};
struct leafe {
	int v[22];
};
struct leafr {
	int v[26];
};
struct local {
	int v[34];
};
struct mine {
	int v[38];
};
struct item {
	const char *kind;
	struct leafr *leaf;
	long pad[13];
};
struct twin {
	struct twin *self;
	void *other;
	int a;
};
struct mate {
	struct mate *self;
	void *other;
	int b;
};
struct wide {
	long count;
	struct leafw *leaves[2000];
};
struct huge {
	char pad[1 << 20];
	struct leafe *leaf;
	long value;
};

struct leafg *table[30000];
struct leafh **array;
struct wide *wide;
struct huge *huges;
struct item **items;
struct twin *twins[6000];
struct mate *mates[6000];

static void *filled(size_t size)
{
	return memset(malloc(size), 1, size);
}

static pthread_barrier_t barrier;

static void *hold(void *unused)
{
	struct mine *mine = filled(sizeof(*mine));
	pthread_barrier_wait(&barrier);
	pause();
	return mine;
}

static void recurse(int depth)
{
	struct local *local = filled(sizeof(*local));
	if (depth > 1) {
		recurse(depth - 1);
	} else {
		puts("ready");
		fflush(stdout);
		pause();
	}
	free(local);
}

int main(void)
{
	struct leafs *leaves[10000];
	for (int i = 0; i < 30000; i++)
		table[i] = filled(sizeof(*table[i]));
	array = calloc(5000000, sizeof(*array));
	for (int i = 0; i < 2000; i++)
		array[4999999 - i] = filled(sizeof(**array));
	for (int i = 0; i < 10000; i++)
		leaves[i] = filled(sizeof(*leaves[i]));
	wide = malloc(sizeof(*wide));
	wide->count = 2000;
	for (int i = 0; i < 2000; i++)
		wide->leaves[i] = filled(sizeof(*wide->leaves[i]));
	huges = calloc(3, sizeof(*huges));
	for (int i = 0; i < 3; i++)
		huges[i].leaf = filled(sizeof(*huges[i].leaf));
	items = malloc(70000 * sizeof(*items));
	for (int i = 0; i < 70000; i++) {
		items[i] = calloc(1, sizeof(*items[i]));
		items[i]->kind = i % 3 ? "alpha" : "beta";
		items[i]->leaf = filled(sizeof(*items[i]->leaf));
	}
	for (int i = 0; i < 6000; i++) {
		twins[i] = calloc(1, sizeof(*twins[i]));
		twins[i]->self = twins[i];
		twins[i]->other = twins;
		mates[i] = calloc(1, sizeof(*mates[i]));
		mates[i]->self = mates[i];
		mates[i]->other = mates;
	}
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	pthread_barrier_init(&barrier, NULL, 301);
	for (int i = 0; i < 300; i++) {
		pthread_t thread;
		pthread_create(&thread, &attributes, hold, NULL);
	}
	pthread_barrier_wait(&barrier);
	recurse(1000);
	return leaves[5]->v[0];
}
