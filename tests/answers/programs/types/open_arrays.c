/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays whose length the program knows alone: without an end, and of far more elements than there
 * is memory, of which a block has four. A header stands before the latter, so that only a pointer
 * into the block says what it is. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct item {
	int number;
	struct item *next;
	char name[24];
};
struct open {
	struct open *more;
	long count;
	struct item *items[];
};
struct huge {
	long count;
	struct item *slots[1ul << 40];
};
struct holder {
	struct huge *huge;
	struct open *open;
	long number[5];
};
static struct holder *holder;
static struct item *behind[64];

static struct item *item(int number)
{
	struct item *made = calloc(1, sizeof(*made));
	made->number = number;
	return made;
}

int main(void)
{
	holder = calloc(1, sizeof(*holder));
	holder->open = calloc(1, sizeof(struct open) + 101 * sizeof(struct item *));
	for (int i = 0; i < 101; i++)
		holder->open->items[i] = item(i);
	long *block = malloc(16 + 8 + 4 * 8);
	holder->huge = (struct huge *)(block + 2);
	block[0] = block[1] = 7;
	struct item **after = calloc(64, sizeof(*after)); /* what lies behind leads to items, too */
	for (int i = 0; i < 4; i++)
		holder->huge->slots[i] = item(i);
	for (int i = 0; i < 64; i++)
		after[i] = behind[i] = item(1000 + i);
	holder->huge->count = 4;
	printf("ready\n");
	fflush(stdout);
	pause();
	return after == NULL;
}
