/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a global std::deque holds, and words on the stack that a function which returned has left
 * there: in a frame that lives, in none of its variables. Among them are what vectors were whose
 * memory this deque's table has now, and that of one in an object.
 */
#include <alloca.h>

#include <deque>

#include "account.h"

ACCOUNT_DEFINE;

#define ITEMS 20u
#define ROOM 4096u

struct Item {
	long number;
	char text[40];
};

struct Owner {
	long number;
	std::deque<Item *> own;
};

static std::deque<Item *> queue;
static Owner *owner;

/* The deque's block, as its iterators have it. */
static Item **block_of_queue()
{
	return &queue.front();
}

/* libstdc++'s: its first word leads to its table of blocks, of eight at first. */
static void **table_of(const std::deque<Item *> *deque)
{
	void **table;
	memcpy(&table, static_cast<const void *>(deque), sizeof(table));
	return table;
}

__attribute__((noinline)) static void leave()
{
	void *volatile words[ROOM / 16];
	for (unsigned i = 0; i < ROOM / 16; i++)
		words[i] = i % 2 ? static_cast<void *>(queue[i % ITEMS])
				 : static_cast<void *>(block_of_queue());
	for (unsigned i = 0; i < 2; i++) {
		void **table = table_of(i ? &owner->own : &queue);
		unsigned at = ROOM / 32 + 3 * i;
		words[at] = table;
		words[at + 1] = table + 5;
		words[at + 2] = table + 8;
	}
	(void)words[0];
}

__attribute__((noinline)) static void hold(Item *named)
{
	Item *volatile mine = named;
	volatile char *room = static_cast<volatile char *>(alloca(2 * ROOM));
	room[0] = 0;
	account_end();
	room[1] = static_cast<char>(mine->number);
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, nullptr, _IONBF, 0);
	for (unsigned i = 0; i < ITEMS; i++) {
		Item *item = new Item();
		account(item, sizeof(*item), 'r', i ? "item" : "named");
		queue.push_back(item);
	}
	account(block_of_queue(), 512, 'r', "block");
	account(table_of(&queue), 64, 'r', "table");
	owner = new Owner();
	owner->own.push_back(queue[0]);
	account(table_of(&owner->own), 64, 'r', "table");
	leave();
	hold(queue[0]);
	return !owner;
}
