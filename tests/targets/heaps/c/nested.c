/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structures that have sixteen of another, eight levels deep: debug information of a few kilobytes,
 * and four thousand million members. */
#include "account.h"

ACCOUNT_DEFINE;

struct least {
};
#define SIXTEEN(name, of)                                                                          \
	struct name {                                                                              \
		struct of a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;                          \
	};
SIXTEEN(level_1, least)
SIXTEEN(level_2, level_1)
SIXTEEN(level_3, level_2)
SIXTEEN(level_4, level_3)
SIXTEEN(level_5, level_4)
SIXTEEN(level_6, level_5)
SIXTEEN(level_7, level_6)
SIXTEEN(level_8, level_7)

struct crowd {
	long number;
	char *name;
	struct level_8 all;
};

static struct crowd *crowds;

int main(int argc, char **argv)
{
	account_open(argc, argv);
	crowds = calloc(1, sizeof(*crowds));
	account(crowds, sizeof(*crowds), 'r', "crowd");
	account_end();
	return !crowds;
}
