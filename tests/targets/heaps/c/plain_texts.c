/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts in blocks that nothing declares to be some, and what only begins with one. */
#include "account.h"

ACCOUNT_DEFINE;

#define BLOCKS 64u
static void *blocks[BLOCKS];
static unsigned used;
static char *declared;

static void *keep(size_t size, const char *kind)
{
	void *block = malloc(size);
	memset(block, 0x81, size);
	account(block, size, 'r', kind);
	blocks[used++] = block;
	return block;
}

static void keep_text(const char *text, const char *kind)
{
	strcpy(keep(strlen(text) + 1, kind), text);
}

/* Of a size that no text alone takes. */
static void keep_structure(const char *name, size_t size)
{
	char *block = keep(size, "plain");
	strcpy(block, name);
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	keep_text("eight by", "text");
	keep_text("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "text");
	keep_text("a line\twith a tab\nand another line\r\n", "text");
	keep_text("Grüße aus München, 東京", "text");
	for (size_t len = 9; len < 41; len++) {
		char text[64];
		memset(text, 'a', sizeof(text));
		text[len] = '\0';
		keep_text(text, "text");
	}
	/* A mapping of its own. */
	char *large = keep(3000000, "text");
	memset(large, 'x', 2999999);
	large[2999999] = '\0';
	/* Too short; with a control character; no UTF-8; cut off in a character; without an end. */
	keep_text("short", "plain");
	keep_text("a bell \a in a text", "plain");
	keep_text("latin \xfc\xdf and more of it", "plain");
	keep_text("cut off in a \xc3", "plain");
	memset(keep(24, "plain"), 'e', 24);
	/* Hardly any letters: numbers look so. */
	keep_text("?@!?@(+?@)-?@", "plain");
	keep_structure("name of a structure", 64);
	keep_structure("name of twenty-three ch", 40);
	double *numbers = keep(4 * sizeof(*numbers), "plain");
	for (int i = 0; i < 4; i++)
		numbers[i] = 1.1 * i;
	declared = strcpy(malloc(32), "it is said to be characters");
	account(declared, 32, 'r', "char[]");
	account_end();
	return declared[0] == 'x';
}
