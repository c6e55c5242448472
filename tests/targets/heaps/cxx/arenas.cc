/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arenas of `new char[n]`: chunks with a header, and objects made in place behind it. One header
 * has in its last word how many objects follow, as `new T[n]` has in front of the first.
 */
#include <cstddef>
#include <new>

#include "account.h"

ACCOUNT_DEFINE;

struct Header {
	Header *previous;
	std::size_t size, used;
};
struct Counting {
	Counting *previous;
	std::size_t count;
};
struct Item {
	Item *next = nullptr;
	const char *name = nullptr;
	long number = 0;
	Item(Item *after, long of) : next(after), number(of)
	{
	}
	~Item()
	{
		number = -1;
	}
};
struct Node {
	Node *left, *right;
	double weight;
	Item *item;
};

static Header *headers;
static Counting *countings;
static Item *items, *counted;
static Node *nodes;
static int *numbers;

static char *room(std::size_t size, const char *kind)
{
	char *memory = new char[size]();
	account(memory, size, 'r', kind);
	return memory;
}

static void fill(char *at, char *end, bool has_nodes)
{
	for (long k = 0; end - at > 100; k++) {
		items = new (at) Item(items, k);
		at += sizeof(Item);
		if (!has_nodes || k % 3)
			continue;
		nodes = new (at) Node{nodes, nullptr, 0.5, items};
		at += sizeof(Node);
	}
}

static void add_chunks(std::size_t size, bool has_nodes, const char *kind)
{
	char *memory = room(size, kind);
	headers = new (memory) Header{headers, size, size};
	fill(memory + sizeof(Header), memory + size, has_nodes);
}

static void add_counting()
{
	char *memory = room(sizeof(Counting) + 50 * sizeof(Item), "pool of Counting and Item");
	countings = new (memory) Counting{countings, 50};
	for (long k = 0; k < 50; k++)
		counted = new (memory + sizeof(Counting) + k * sizeof(Item)) Item(counted, k);
}

/* What is first in it is no header, but an array of numbers. */
static void add_numbers()
{
	char *memory = room(4000, "pool of Item");
	numbers = new (memory) int[60]{1, 2, 3};
	fill(memory + 60 * sizeof(int), memory + 4000, false);
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	for (int i = 0; i < 2; i++) {
		add_chunks(4080, false, "pool of Header and Item");
		add_chunks(4096, false, "pool of Header and Item");
		add_chunks(4080, true, "pool of several structures");
		add_chunks(4096, true, "pool of several structures");
		add_counting();
	}
	add_numbers();
	account_end();
	return !headers || !countings || !items || !counted || !nodes || !numbers;
}
