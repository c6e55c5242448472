/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Three blocks are written beyond their end, over the head of what follows: by a word, by a string,
 * and by a whole page of zeros' beginning. Rows of the blocks that lie behind are of type "lost to
 * damage". A fourth one is written beyond its end by a byte, which leaves the size there as it was
 * and clears the flag that the block is in use. */
#include "account.h"

ACCOUNT_DEFINE;

#define BLOCKS 3000u

static char *blocks[BLOCKS];
static unsigned rows[BLOCKS];

static void smash(unsigned number, const void *with, size_t bytes)
{
	memcpy(blocks[number] + 56, with, bytes);
	strcpy(account_file.rows[rows[number + 1]].type, "lost to damage");
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(56);
		memset(blocks[i], 0, 56);
		rows[i] = account(blocks[i], 56, 'r', "block");
	}
	smash(500, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	smash(1500, "overrun by a string", 8);
	smash(2500, "\0\0\0\0\0\0\0\0", 8);
	blocks[2000][56] = 0x40;
	account_end();
	return 0;
}
