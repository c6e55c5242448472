/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structures that end with an array of as many elements as there is room for: of structures, of
 * pointers, inside of another one. What the elements point to nothing else declares. */
#include "account.h"

ACCOUNT_DEFINE;

struct further {
	double weight;
	struct further *next;
	long many[5];
};
struct leaf {
	long number;
	struct further *further;
	long more[2];
};
struct entry {
	int key;
	char *name;
	struct leaf *leaf;
};
struct table {
	int count;
	struct entry entries[];
};
struct pointers {
	long count;
	struct leaf *leaves[];
};
struct around {
	struct leaf *first;
	struct table table;
};

struct table *tables[6];
struct pointers *pointers[6];
struct around *around;

static void *made(size_t size, const char *type)
{
	void *block = calloc(1, size);
	account(block, size, 'r', type);
	return block;
}

static char *made_text(unsigned i)
{
	char *text = made(90 + i, "char[]");
	snprintf(text, 90, "name %u", i);
	return text;
}

static struct leaf *made_leaf(unsigned i)
{
	struct leaf *leaf = made(sizeof(*leaf), "leaf");
	leaf->number = i;
	leaf->further = made(sizeof(*leaf->further), "further");
	leaf->further->weight = i;
	return leaf;
}

static void fill(struct table *table, unsigned count)
{
	table->count = (int)count;
	for (unsigned i = 0; i < count; i++)
		table->entries[i] = (struct entry){(int)i, made_text(i), made_leaf(i)};
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	for (unsigned i = 0; i < 6; i++) {
		unsigned count = 1 + 3 * i;
		tables[i] = made(sizeof(struct table) + count * sizeof(struct entry), "table");
		fill(tables[i], count);
		pointers[i] = made(sizeof(struct pointers) + count * sizeof(void *), "pointers");
		pointers[i]->count = count;
		/* The last one, since all others may be NULL. */
		pointers[i]->leaves[count - 1] = made_leaf(count);
	}
	around = made(sizeof(*around) + 5 * sizeof(struct entry), "around");
	around->first = made_leaf(0);
	fill(&around->table, 5);
	account_end();
	return 0;
}
