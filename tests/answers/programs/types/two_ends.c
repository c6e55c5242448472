/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two lists of N nodes that are linked both ways: one hangs on two variables, `first` and `last`,
 * and belongs to neither; the other one on the single variable `both`. A third list of 2N nodes
 * alternates between two types, and only the variable `chain` holds it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct node {
	struct node *next, *previous;
	long value;
};

struct yes;
struct no {
	struct yes *next;
	long value[4];
};
struct yes {
	long value[5];
	struct no *next;
};

struct node *first, *last;
struct {
	struct node *head, *tail;
} both;
struct no *chain;

static void append(struct node **head, struct node **tail)
{
	struct node *node = calloc(1, sizeof(*node));
	node->value = 1;
	node->previous = *tail;
	*(*tail ? &(*tail)->next : head) = node;
	*tail = node;
}

int main(int argc, char **argv)
{
	int count = atoi(argv[1]);
	struct yes *end = NULL;
	for (int i = 0; i < count; i++)
		append(&first, &last);
	for (int i = 0; i < count; i++)
		append(&both.head, &both.tail);
	for (int i = 0; i < count; i++) {
		struct no *no = calloc(1, sizeof(*no));
		struct yes *yes = calloc(1, sizeof(*yes));
		no->next = yes;
		if (end)
			end->next = no;
		else
			chain = no;
		end = yes;
	}
	printf("%p\n", (void *)end);
	end = NULL;
	fflush(stdout);
	pause();
}
