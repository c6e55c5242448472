/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What blocks are follows from what points to them: lists, trees, tables, arrays, strings, from
 * globals of a file, of a function, and members of structures. "?" is what no declaration says:
 * behind void *, of a larger structure than is declared, held by its middle.
 */
#include <stdbool.h>
#include <stddef.h>

#include "account.h"

ACCOUNT_DEFINE;

enum colour { RED, GREEN = 5, BLUE, NONE = -1 };
enum flags { FLAG_A = 1, FLAG_B = 2, FLAG_C = 4 };

struct pair {
	int key;
	double value;
};

struct shape {
	unsigned visible : 1;
	unsigned layer : 5;
	int depth : 7;
	enum colour colour;
	char label[13];
	bool closed;
	short corners[3];
	struct pair centre;
	union {
		void *owner;
		unsigned long number;
	};
	struct {
		unsigned char red, green, blue;
	} paint;
	int (*draw)(struct shape *shape, const char *where);
	enum flags flags;
	float weight;
};

struct node {
	struct node *next;
	char *name;
	struct shape *shape;
	long number;
};

typedef struct {
	long count;
	struct pair *pairs;
	struct shape **shapes;
	struct node *recent[4];
	void *anything;
} registry_t;

struct tree {
	struct tree *left, *right;
	int *numbers;
};

struct base {
	struct base *next;
};
/* Only struct base is declared of who points at it. */
struct derived {
	struct base base;
	long more[10];
};

struct message {
	struct message *next;
	size_t len;
	char text[];
};

static struct node *list;
static registry_t registry;
static struct base *bases;
static struct message *messages;
static char *middle;
static void *lost_node;

static void *block(size_t size, const char *type)
{
	void *memory = calloc(1, size);
	account(memory, size, 'r', type);
	return memory;
}

static int draw(struct shape *shape, const char *where)
{
	return shape->corners[0] + *where;
}

static struct shape *new_shape(unsigned number)
{
	struct shape *shape = block(sizeof(*shape), "shape");
	shape->visible = 1;
	shape->layer = number % 32;
	shape->depth = (int)(number % 64) - 32;
	shape->colour = number % 2 ? BLUE : NONE;
	snprintf(shape->label, sizeof(shape->label), "s%u", number);
	shape->closed = true;
	shape->corners[1] = -3;
	shape->centre.key = (int)number;
	shape->centre.value = 0.5;
	shape->number = 77;
	shape->paint.green = 200;
	shape->draw = draw;
	shape->flags = FLAG_A | FLAG_C;
	shape->weight = 1.25f;
	return shape;
}

static struct node *new_node(struct node *next, unsigned number)
{
	struct node *node = block(sizeof(*node), "node");
	node->next = next;
	node->name = block(9 + number % 40, "char[]");
	snprintf(node->name, 9, "n%u", number);
	node->shape = number % 3 ? NULL : new_shape(number);
	node->number = number;
	return node;
}

static struct tree *new_tree(unsigned depth)
{
	struct tree *tree = block(sizeof(*tree), "tree");
	if (depth) {
		tree->left = new_tree(depth - 1);
		tree->right = new_tree(depth - 1);
	}
	tree->numbers = block(40 * sizeof(int), "int[]");
	return tree;
}

static void fill_registry(void)
{
	registry.count = 10;
	registry.pairs = block(10 * sizeof(struct pair), "pair[]");
	registry.shapes = block(50 * sizeof(struct shape *), "struct shape *[]");
	for (unsigned i = 0; i < 50; i += 2)
		registry.shapes[i] = new_shape(i);
	registry.recent[2] = list;
	registry.anything = block(200, "?");
}

static void add_bases(void)
{
	for (unsigned i = 0; i < 5; i++) {
		struct derived *derived = block(sizeof(*derived), "?");
		derived->base.next = bases;
		derived->more[3] = -1;
		bases = &derived->base;
	}
}

static void add_messages(void)
{
	for (unsigned i = 0; i < 20; i++) {
		struct message *message = block(sizeof(*message) + 30 * i, "message");
		message->len = 30 * i;
		message->next = messages;
		messages = message;
	}
}

int main(int argc, char **argv)
{
	static struct tree *root;
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (unsigned i = 0; i < 300; i++)
		list = new_node(list, i);
	fill_registry();
	root = new_tree(6);
	add_bases();
	add_messages();
	middle = (char *)block(500, "?") + 24;
	/* Looks as the others do. */
	lost_node = new_node(NULL, 3);
	account_end();
	return !list || !root || !messages || !middle || !lost_node || !registry.count;
}
