/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words behind what a block seems to be: members behind a first member that names its class itself,
 * room that was asked for behind objects, and members of what derives from a structure. Nothing is
 * lost. */
#include <cstring>
#include <new>

#include "account.h"

ACCOUNT_DEFINE;

struct Small {
	virtual ~Small() = default;
	long number = 1;
};
struct Large {
	Small small;
	char *texts[6];
};
struct Trailed {
	virtual ~Trailed() = default;
	long number = 0;
	Trailed *next = nullptr;
	long place = 0;
};
struct Node {
	long kind;
	Node *next;
	long left, right;
};
struct Commented : Node {
	char *comment;
};

static Large *larges[10];
static Trailed *trailed;
static Node *nodes;

static char *held(size_t size)
{
	char *text = static_cast<char *>(malloc(size));
	memset(text, 'a', size);
	account(text, size, 'r', "held");
	return text;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	for (Large *&large : larges) {
		large = new Large;
		for (char *&text : large->texts)
			text = held(1000);
	}
	for (unsigned i = 0; i < 40; i++) {
		Trailed *one = new (malloc(sizeof(Trailed) + sizeof(char *))) Trailed;
		*reinterpret_cast<char **>(one + 1) = held(300);
		one->next = trailed;
		trailed = one;
	}
	for (unsigned i = 0; i < 80; i++) {
		Commented *one = static_cast<Commented *>(calloc(1, sizeof(Commented)));
		if (i % 8 == 0)
			one->comment = held(200);
		one->next = nodes;
		nodes = one;
	}
	account_end();
	return !larges[0] || !trailed || !nodes;
}
