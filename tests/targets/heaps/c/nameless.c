/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structures and unions without names: each is another type. */
#include "account.h"

ACCOUNT_DEFINE;

struct {
	int number;
	char *text;
} * first;
struct {
	double weight;
	void *more[5];
} * second;
union {
	long whole;
	char *text;
} * either;
struct {
	long one, two, three, four, five, six;
} * many;

#define MADE(pointer, type)                                                                        \
	pointer = calloc(1, sizeof(*pointer));                                                     \
	account(pointer, sizeof(*pointer), 'r', type)

int main(int argc, char **argv)
{
	account_open(argc, argv);
	MADE(first, "struct {number, text}");
	first->number = 1;
	first->text = malloc(100);
	account(first->text, 100, 'r', "char[]");
	strcpy(first->text, "of the first");
	MADE(second, "struct {weight, more}");
	second->weight = 2;
	MADE(either, "union {whole, text}");
	either->whole = 3;
	MADE(many, "struct {one, two, three, four, …}");
	many->six = 6;
	account_end();
	return !first || !second || !either || !many;
}
