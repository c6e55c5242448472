/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classes without tables of functions: what a pointer to a base leads to may be of what derives
 * from it ("?"). A first member is no base, in C++.
 */
#include "account.h"

ACCOUNT_DEFINE;

#define MANY 60u

struct Base {
	Base *next;
	long kind;
};

struct Derived : Base {
	double radius;
};

struct Alone {
	Alone *next;
	long number;
};

struct Pair {
	Alone alone;
	long further;
};

/* Much larger than what it derives from: as large as several of these. */
struct Node {
	int number;
	double weight;
	Node *next;
};

struct Named : Node {
	char name[40];
	char *text;
	long further[3];
};

/* Two bases at one place, of which one has no members. */
struct Fixed {
	Fixed() = default;
	Fixed(const Fixed &) = delete;
};

struct Part {
	char *text;
	long number;
};

struct Whole : Fixed, Part {
	long further;
};

static Part *parts[MANY];
static Whole *wholes;
static Node *nodes;
static Base *bases;
static Derived *known[MANY];
static Alone *list;
static Pair *pairs[MANY];
static volatile unsigned used;

template <typename T> static T *made(const char *type)
{
	T *object = new T();
	account(object, sizeof(*object), 'r', type);
	return object;
}

static char *text(const char *type)
{
	char *text = new char[24];
	account(text, 24, 'r', type);
	return strcpy(text, "a text");
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, nullptr, _IONBF, 0);
	for (unsigned i = 0; i < MANY; i++) {
		Base *base = i % 2 ? made<Base>("?") : made<Derived>("?");
		base->next = bases;
		bases = base;
		known[i] = made<Derived>("Derived");
		known[i]->radius = 0.5;
		Named *named = made<Named>("?");
		named->next = nodes;
		strcpy(named->name, "a name");
		named->text = text("?");
		nodes = named;
		Whole *whole = made<Whole>("?");
		whole->text = text("char[]");
		whole->number = 3;
		parts[i] = whole;
		Alone *alone = made<Alone>("Alone");
		alone->next = list;
		list = alone;
		pairs[i] = made<Pair>("Pair");
		pairs[i]->further = 1;
	}
	account_end();
	return !bases || !nodes || !parts[used] || wholes || !known[used] || !list || !pairs[used];
}
