/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings whose memory has pointers in it behind their text, as memory that was used before may: to
 * a table that a global holds, and to a block that nothing else holds. An object with a short
 * string of that kind, and a vector that had such pointers.
 */
#include <string>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

#define WORDS 40u
#define STALE 64u

static uint64_t *volatile table;
static std::string *of_table, *of_alone;

struct Named {
	std::string name;
	uint64_t *same; /* as what stands behind the name: this one holds */
};
static Named *named, *same;
static std::vector<uint64_t *> popped;

__attribute__((noinline)) static std::string *leave(uint64_t *block, const char *name)
{
	std::string *string = new std::string(200, 'x');
	memcpy(&(*string)[STALE], &block, sizeof(block));
	string->assign("no text of so many characters that it gets there");
	account(&(*string)[0], 201, 'r', name);
	return string;
}

__attribute__((noinline)) static uint64_t *make(size_t words, const char *name)
{
	uint64_t *block = static_cast<uint64_t *>(calloc(words, sizeof(*block)));
	account(block, words * sizeof(*block), 'r', name);
	return block;
}

__attribute__((noinline)) static std::string *leave_alone()
{
	return leave(make(2ul * WORDS, "alone"), "of alone");
}

__attribute__((noinline)) static Named *make_named(uint64_t *block, uint64_t *holds)
{
	Named *fresh = new Named{"short", holds};
	memcpy(&fresh->name[8], &block, sizeof(block));
	account(fresh, sizeof(*fresh), 'r', holds ? "same" : "named");
	return fresh;
}

__attribute__((noinline)) static void pop()
{
	for (unsigned i = 0; i < 8; i++)
		popped.push_back(static_cast<uint64_t *>(table));
	popped[7] = make(3ul * WORDS, "popped");
	popped[1] = make(4ul * WORDS, "element");
	account(popped.data(), 8 * sizeof(void *), 'r', "vector");
	popped[0] = nullptr;
	popped.resize(2);
}

/* What is left on the stack. */
__attribute__((noinline)) static void clear()
{
	volatile char room[16384];
	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	table = make(WORDS, "table");
	of_table = leave(table, "of table");
	of_alone = leave_alone();
	named = make_named(table, nullptr);
	uint64_t *own = make(5ul * WORDS, "own");
	same = make_named(own, own);
	pop();
	clear();
	account_end();
	return !of_table || !of_alone || !named || !same;
}
