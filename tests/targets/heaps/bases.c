/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pointers to structures that larger ones begin with. "?" may be of either, as far as declarations
 * and sizes tell; of other blocks one of both is ruled out.
 */
#include "account.h"

ACCOUNT_DEFINE;

#define MANY 60u

struct label {
	long place;
	char text[64];
};

struct shape {
	struct shape *next;
	struct label *label;
};

/* malloc() gives both the same. */
struct circle {
	struct shape base;
	double radius;
};

struct polygon {
	struct shape base;
	long corners[20];
};

/* Begins with another, and has nothing else: what is one is the other. */
struct item {
	struct item *next;
	long values[2];
};

struct items {
	struct item first;
};

/* What stands where a larger one has its pointer is none. */
struct event {
	struct event *next;
	long when, what[2];
};

struct message {
	struct event base;
	char *text;
};

static struct shape *shapes;
static struct shape *polygons;
static struct circle *circles[MANY];
static struct item *list;
static struct event *events;
static struct message *messages[MANY];
static volatile unsigned used;

static void *block(size_t size, const char *type)
{
	/* Never NULL behind what was asked for. */
	size_t most = (size + 8 + 15) / 16 * 16 - 8;
	char *memory = malloc(most < 24 ? 24 : most);
	memset(memory, 0, most < 24 ? 24 : most);
	if (most - size >= 8)
		memset(memory + most - 8, 0x21, 8);
	account(memory, size, 'r', type);
	return memory;
}

static void push(struct shape **head, struct shape *shape)
{
	shape->next = *head;
	*head = shape;
}

static void make(unsigned i)
{
	struct shape *shape = block(i % 2 ? sizeof(*shape) : sizeof(struct circle), "?");
	push(&shapes, shape);
	/* What both begin with leads there. */
	shape->label = block(sizeof(*shape->label), "label");
	strcpy(shape->label->text, "a text");
	push(&polygons, block(sizeof(struct polygon), "?"));
	circles[i] = block(sizeof(*circles[i]), "circle");
	circles[i]->radius = 1.5;
	struct item *item = block(sizeof(*item), "item");
	item->next = list;
	list = item;
	struct event *event = block(sizeof(*event), "event");
	event->next = events;
	events = event;
	messages[i] = block(sizeof(*messages[i]), "message");
	messages[i]->text = block(20, "char[]");
	strcpy(messages[i]->text, "some text");
	messages[i]->base.next = i ? &messages[i - 1]->base : NULL;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (unsigned i = 0; i < MANY; i++)
		make(i);
	account_end();
	return !shapes || !polygons || !circles[used] || !messages[used] || !list || !events ||
	       sizeof(struct items) != sizeof(*list);
}
