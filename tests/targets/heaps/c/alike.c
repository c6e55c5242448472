/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What looks like blocks of a type, of the same size with pointers at the same places, and is none:
 * what is in it says so. "?" is held by void * alone; lost blocks are named by their looks, where
 * nothing speaks against it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "account.h"

ACCOUNT_DEFINE;

#define SLOTS 4096u

enum colour { RED = 1, GREEN = 5, BLUE = 9 };
enum right { READ = 1, WRITE = 2, EXECUTE = 4, SHARE = 8 };

struct tree {
	struct tree *left, *right;
	bool is_leaf;
	enum colour colour;
	enum right rights;
	int depth;
	double weight;
};

/* Laid out alike, as far as pointers tell. */
struct ring {
	struct ring *next, *before;
	long serials[2];
	char text[8];
};

struct leaf {
	struct tree *tree;
	long order;
	char name[40];
};

/* One pointer, and then numbers: much looks like this. */
struct names {
	struct leaf **all;
	long fill, most;
	unsigned references;
};

struct vector {
	double *values;
	long fill, most;
	unsigned references;
};

static struct tree *root;
static struct leaf *leaves[64];
static struct names *names;
static void *slots[SLOTS];
static unsigned used;

static void *block(size_t size, char leak, const char *type)
{
	void *memory = calloc(1, size);
	account(memory, size, leak, type);
	return memory;
}

/* Held by what declares nothing. */
static void *hidden(size_t size)
{
	void *memory = block(size, 'r', "?");
	slots[used++ % SLOTS] = memory;
	return memory;
}

static struct tree *new_tree(unsigned depth, char leak, const char *type)
{
	struct tree *tree = block(sizeof(*tree), leak, type);
	tree->is_leaf = !depth;
	tree->colour = depth % 2 ? GREEN : BLUE;
	tree->rights = depth % 3 ? READ | SHARE : READ | WRITE | EXECUTE;
	tree->depth = (int)depth;
	tree->weight = 0.25 * depth;
	if (depth) {
		tree->left = new_tree(depth - 1, leak, type);
		tree->right = new_tree(depth - 1, leak, type);
	}
	return tree;
}

/* Each is a tree but for one member. */
static struct tree *new_impostor(struct tree *other)
{
	struct tree *tree = hidden(sizeof(*tree));
	tree->left = tree->right = other;
	tree->is_leaf = false;
	tree->colour = RED;
	tree->depth = 3;
	tree->weight = 1;
	return tree;
}

static void add_impostors(void)
{
	static const unsigned char two = 2;
	unsigned wrong_colour = 7, wrong_rights = 16;
	for (unsigned i = 0; i < 16; i++) {
		struct tree *other = root->left;
		struct tree *tree = new_impostor(other);
		memcpy(&tree->is_leaf, &two, 1);
		memcpy(&new_impostor(other)->colour, &wrong_colour, sizeof(wrong_colour));
		memcpy(&new_impostor(other)->rights, &wrong_rights, sizeof(wrong_rights));
		memcpy(&new_impostor(other)->depth, "text", 4);
		memcpy(&new_impostor(other)->weight, (long[]){12}, 8);
		tree = new_impostor(other);
		tree->left = tree;
		new_impostor(other)->right = hidden(16);
		new_impostor(other)->right = (struct tree *)leaves[i];
	}
}

/* What it leads to would be trees of no colour. */
static void add_pointers(void)
{
	const double three = 3;
	for (unsigned i = 0; i < 16; i++) {
		void **pointers = hidden(sizeof(struct tree));
		for (unsigned k = 0; k < 2; k++) {
			pointers[k] = hidden(sizeof(struct tree));
			memcpy((char *)pointers[k] + offsetof(struct tree, is_leaf), &three, 8);
		}
	}
}

static void add_rings(void)
{
	for (unsigned i = 0; i < 64; i++) {
		struct ring *ring = hidden(sizeof(*ring));
		struct ring *other = hidden(sizeof(*ring));
		ring->next = ring->before = other;
		other->next = other->before = ring;
		ring->serials[0] = other->serials[0] = 2 + i;
		memcpy(other->text, "one two", 8);
	}
}

static void add_leaves(void)
{
	for (unsigned i = 0; i < 64; i++) {
		leaves[i] = block(sizeof(*leaves[i]), 'r', "leaf");
		leaves[i]->tree = root;
		leaves[i]->order = i;
		snprintf(leaves[i]->name, sizeof(leaves[i]->name), "leaf %u", i);
	}
	/* Bytes where all leaves have their names. */
	for (unsigned i = 0; i < 32; i++) {
		struct leaf *other = hidden(sizeof(*other));
		other->tree = root;
		memset(other->name, 0x11, sizeof(other->name));
	}
}

static void add_names(void)
{
	names = block(sizeof(*names), 'r', "names");
	names->all = block(200 * sizeof(struct leaf *), 'r', "struct leaf *[]");
	for (unsigned i = 0; i < 64; i++)
		names->all[i] = leaves[i];
	for (unsigned i = 0; i < 300; i++) {
		struct vector *vector = hidden(sizeof(*vector));
		vector->values = hidden(48 + 16 * (i % 5));
		vector->values[0] = 0.5 + i;
		vector->fill = vector->most = 6;
		vector->references = 1;
	}
}

/* Nothing leads there any more. */
static void lose(void)
{
	struct tree *tree = new_tree(1, 'i', "tree");
	struct tree *top = block(sizeof(*top), 'd', "tree");
	*top = *root;
	top->left = tree;
	top->right = tree;
	struct names *lost = block(sizeof(*lost), 'd', "names");
	lost->all = block(40 * sizeof(struct leaf *), 'i', "struct leaf *[]");
	lost->all[0] = leaves[3];
	lost->fill = 1;
	lost->references = 1;
	struct leaf *leaf = block(sizeof(*leaf), 'd', "leaf");
	memcpy(leaf, leaves[5], sizeof(*leaf));
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	root = new_tree(6, 'r', "tree");
	add_leaves();
	add_names();
	add_impostors();
	add_rings();
	add_pointers();
	lose();
	account_end();
	return !root || !names || !leaves[0] || !slots[0];
}
