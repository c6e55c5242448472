/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list grows to 2,000 nodes in two seconds, and all of it is freed at the end. */
#include <stdlib.h>
#include <unistd.h>

struct node {
	struct node *next;
	char text[56];
};

static struct node *list_add(struct node *list)
{
	struct node *node = malloc(sizeof(*node));
	node->next = list;
	return node;
}

int main(void)
{
	struct node *list = NULL;
	for (int i = 0; i < 2000; i++) {
		list = list_add(list);
		usleep(1000);
	}
	while (list) {
		struct node *next = list->next;
		free(list);
		list = next;
	}
	return 0;
}
