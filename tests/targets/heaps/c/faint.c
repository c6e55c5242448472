/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words that lead into the middle of blocks and are no multiple of 8: below a bool, in an array of
 * characters, and pointers to characters. What is accounted as "table" has one holder beside a
 * pointer to a character, "marked" only one with a mark in it, "text" only one into its middle.
 */
#include <stdbool.h>

#include "account.h"

ACCOUNT_DEFINE;

#define TABLE_BYTES 4096u
#define MANY 40u

struct flagged {
	struct flagged *next;
	bool flag;
};

struct noted {
	struct noted *next;
	char note[21];
};

/* As parsers have. */
struct reader {
	const char *at;
	long line;
};

static char *table;
static struct flagged *flags;
static struct noted *notes;
static struct reader *reader;
static uintptr_t marked;
static const char *text;

static void *block(size_t size, char leak, const char *type)
{
	void *memory = calloc(1, size);
	account(memory, size, leak, type);
	return memory;
}

/* What is left of a pointer into the table below what was written over its first byte. */
static void leave(void *word, unsigned i)
{
	uintptr_t rest = ((uintptr_t)table + 512 + 256 * (i % 8)) & ~(uintptr_t)255;
	rest |= 1;
	memcpy(word, &rest, sizeof(rest));
}

static void make_chance(void)
{
	for (unsigned i = 0; i < MANY; i++) {
		struct flagged *flagged = block(sizeof(*flagged), 'r', "flagged");
		flagged->next = flags;
		leave(&flagged->flag, i);
		flags = flagged;
		struct noted *noted = block(sizeof(*noted), 'r', "noted");
		noted->next = notes;
		strcpy(noted->note, "short");
		leave((char *)noted + 24, i);
		notes = noted;
	}
}

static void end_with(const char *line)
{
	const char *volatile cursor = line;
	account_end();
	(void)*cursor;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	table = block(TABLE_BYTES, 'r', "table");
	make_chance();
	reader = block(sizeof(*reader), 'r', "reader");
	reader->at = table + 77;
	marked = (uintptr_t)block(200, 'p', "marked") | 1;
	text = (char *)block(3000, 'p', "text") + 333;
	end_with(table + 99);
	return !table || !flags || !notes || !reader || !marked || !text;
}
