/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings whose memory has pointers in it behind their text, as memory that was used before may: to
 * a table that a global holds, and to a block that nothing else holds.
 */
#include <string>

#include "account.h"

ACCOUNT_DEFINE;

#define WORDS 40u
#define STALE 64u

static uint64_t *volatile table;
static std::string *of_table, *of_alone;

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
	clear();
	account_end();
	return !of_table || !of_alone;
}
