/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked of a heap by filters and members: lost blocks of several types, texts that nothing
 * declares, a chain that hangs on one variable, a structure with an array whose number of elements
 * a test writes over in the debug information, one with many members.
 */
#include <stddef.h>

#include "account.h"

ACCOUNT_DEFINE;

#define CHAIN 300
#define ELEMENTS 0x11224

struct node {
	struct node *next;
	void *text;
	long number;
};

struct shape {
	long sides;
	struct shape *inner, *outer;
	long more[3];
};

struct registry {
	long count;
	struct node *items[ELEMENTS];
};

#define TEN(name)                                                                                  \
	int name##_0, name##_1, name##_2, name##_3, name##_4, name##_5, name##_6, name##_7,        \
		name##_8, name##_9;
struct session {
	TEN(alpha)
	TEN(beta)
	TEN(gamma)
	TEN(delta)
	struct node *user_name;
	TEN(epsilon)
	int peer;
};

/* Each holds the other. */
struct yes {
	struct no *no;
	long more[7];
};
struct no {
	struct yes *yes;
	long more[11];
};

static struct yes *chain;
static struct node *list, *listed;
static struct shape *shapes;
static struct registry *registry;
static struct session *session;
static void *anything[8];

static void *block(size_t size, char leak, const char *type)
{
	void *memory = calloc(1, size);
	account(memory, size, leak, type);
	return memory;
}

static struct node *new_node(struct node *next, long number, char leak)
{
	struct node *node = block(sizeof(*node), leak, "node");
	node->next = next;
	node->number = number;
	return node;
}

static struct shape *new_shape(struct shape *inner, char leak)
{
	struct shape *shape = block(sizeof(*shape), leak, "shape");
	shape->sides = 4;
	shape->inner = inner;
	if (inner)
		inner->outer = shape;
	return shape;
}

static void *text(const char *content)
{
	char *memory = block(strlen(content) + 1, 'r', "text");
	memcpy(memory, content, strlen(content) + 1);
	return memory;
}

static __attribute__((noinline)) void lose(void)
{
	struct node *lost = NULL;
	for (int i = 0; i < 5; i++)
		lost = new_node(lost, i, i == 4 ? 'd' : 'i');
	for (int i = 0; i < 3; i++)
		new_shape(new_shape(NULL, 'i'), 'd');
}

static __attribute__((noinline)) void wipe(void)
{
	char bytes[8192];
	memset(bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < CHAIN; i++)
		list = new_node(list, i, 'r');
	for (int i = 0; i < CHAIN; i++) {
		struct no *no = block(sizeof(*no), 'r', "no");
		no->yes = chain;
		chain = block(sizeof(*chain), 'r', "yes");
		chain->no = no;
	}
	for (int i = 0; i < 20; i++)
		shapes = new_shape(shapes, 'r');
	registry = block(sizeof(*registry), 'r', "registry");
	for (int i = 0; i < 10; i++)
		registry->items[i] = new_node(NULL, i, 'r');
	listed = new_node(NULL, 1, 'r');
	session = block(sizeof(*session), 'r', "session");
	session->user_name = listed;
	anything[0] = text("GET /index.html HTTP/1.1, and more of it");
	anything[1] = text("small text");
	anything[2] = text("\xc2\x9b"
			   "31m is no colour");
	list->text = anything[0];
	lose();
	wipe();
	account_end();
	return !list || !shapes || !registry || !session;
}
