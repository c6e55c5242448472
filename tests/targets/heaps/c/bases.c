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

/* Functions may begin anywhere. */
struct handler {
	struct handler *next;
	long kind;
	void (*call)(void);
};

struct timer {
	struct handler base;
	double when;
};

/* As large as three, and in the third's place there is a number. */
struct pair {
	struct pair *other;
	long number;
};

struct part {
	char *text;
	long number;
};

/* Two without a name, of one line. */
#define UNNAMED(first, member, name)                                                               \
	typedef struct {                                                                           \
		struct part first;                                                                 \
		member;                                                                            \
	} name
#define BOTH                                                                                       \
	UNNAMED(whole, char *more[2], with_texts);                                                 \
	UNNAMED(part, long more[2], with_numbers)
BOTH;

static with_texts *texts;
static with_numbers *numbers;
static struct part *parts[MANY];
static struct handler *handlers;
static struct timer *soonest;
static struct pair *pairs[MANY];
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

static void call(void)
{
}

static void make_part(unsigned i)
{
	numbers = block(sizeof(*numbers), "?");
	memset(numbers->more, 7, sizeof(numbers->more));
	parts[i] = &numbers->part;
	parts[i]->text = block(20, "char[]");
	strcpy(parts[i]->text, "some text");
	numbers = NULL;
	texts = NULL;
}

static void make_others(unsigned i)
{
	struct handler *handler =
		i % 2 ? block(sizeof(*handler), "handler") : block(sizeof(struct timer), "?");
	handler->next = handlers;
	handler->call = (void (*)(void))((uintptr_t)call | 1);
	handlers = handler;
	soonest = NULL;
	pairs[i] = block(7 * sizeof(long), "?");
	for (unsigned k = 0; k < 3; k++)
		pairs[i][k] = (struct pair){k < 2 ? pairs[i] : (struct pair *)5, 1};
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
	/* The first of their size. */
	for (unsigned i = 0; i < MANY; i++)
		make_part(i);
	for (unsigned i = 0; i < MANY; i++)
		make(i), make_others(i);
	account_end();
	return !shapes || !handlers || soonest || numbers || texts || !parts[used] ||
	       !pairs[used] || !polygons || !circles[used] || !messages[used] || !list || !events ||
	       sizeof(struct items) != sizeof(*list);
}
