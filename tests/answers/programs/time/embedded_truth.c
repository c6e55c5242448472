/* SPDX-License-Identifier: GPL-2.0-or-later */
/* embedded_truth: holds 30 rows at the mark "held" and frees them before it ends; loses 7 blocks.
 * With an argument it says "ready" while it holds the rows, and waits for the end of its input.
 * Truth: at "held" hold_rows() has 30 blocks of sizeof(struct row), at the end none; lose_blocks()
 * has lost 7 of sizeof(struct lost); the program prints both sizes. */
#include <heapwise/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	struct row *next;
	long number;
	char text[97];
};

struct lost {
	long number;
	char text[321];
};

static struct row *rows;

__attribute__((noinline)) static void hold_rows(void)
{
	for (long i = 0; i < 30; i++) {
		struct row *row = malloc(sizeof(*row));
		memset(row, 0, sizeof(*row));
		row->next = rows;
		row->number = i;
		rows = row;
	}
}

__attribute__((noinline)) static void lose_blocks(void)
{
	for (long i = 0; i < 7; i++) {
		struct lost *volatile lost = malloc(sizeof(*lost));
		lost->number = i;
		lost = NULL;
	}
}

__attribute__((noinline)) static void drop_rows(void)
{
	while (rows) {
		struct row *next = rows->next;
		free(rows);
		rows = next;
	}
}

int main(int argc, char **argv)
{
	(void)argv;
	setvbuf(stdout, NULL, _IONBF, 0);
	lose_blocks();
	hold_rows();
	heapwise_mark("held");
	printf("%zu %zu\n", sizeof(struct row), sizeof(struct lost));
	if (argc > 1)
		getchar();
	drop_rows();
	return 0;
}
