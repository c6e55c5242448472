/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorts the pairs of a file and prints the middle one. It never frees its array nor closes its
 * file. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

struct pair {
	int first, second;
};

struct pairs {
	struct pair *all;
	size_t count, room;
};

static void add(struct pairs *pairs, struct pair pair)
{
	if (pairs->count == pairs->room) {
		pairs->room = pairs->room ? 2 * pairs->room : 1024;
		pairs->all = realloc(pairs->all, pairs->room * sizeof(*pairs->all));
		if (!pairs->all)
			err(1, "sort_pairs: %zu pairs", pairs->room);
	}
	pairs->all[pairs->count++] = pair;
}

static struct pairs read_pairs(const char *path)
{
	struct pairs pairs = {0};
	struct pair pair;
	FILE *file = fopen(path, "r");

	if (!file)
		err(1, "sort_pairs: %s", path);
	while (fscanf(file, "%d %d", &pair.first, &pair.second) == 2)
		add(&pairs, pair);
	return pairs;
}

static int compare(const void *a, const void *b)
{
	const struct pair *one = a, *other = b;

	if (one->first != other->first)
		return one->first < other->first ? -1 : 1;
	return (one->second > other->second) - (one->second < other->second);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: sort_pairs FILE");
	struct pairs pairs = read_pairs(argv[1]);
	if (pairs.count == 0)
		errx(1, "sort_pairs: %s: no pairs", argv[1]);
	qsort(pairs.all, pairs.count, sizeof(*pairs.all), compare);
	struct pair middle = pairs.all[pairs.count / 2];
	printf("%d %d\n", middle.first, middle.second);
	return 0;
}
