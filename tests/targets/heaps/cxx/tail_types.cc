// SPDX-License-Identifier: GPL-2.0-or-later
// Pointers behind the ends of structures: some are an earlier owner's, and what they lead to is
// lost; others are the program's own, which has asked for more than the structure.
#include <list>

#include "account.h"

ACCOUNT_DEFINE;

namespace
{
/* glibc gives 40 bytes for each of these. */
struct Node {
	Node *next;
	long numbers[3];
};
struct Header {
	Header *next;
	double weights[3];
};
struct Single {
	long numbers[4];
};
struct Pair {
	long first, second;
};

Node *nodes;
Header *headers;
Single *single;
std::list<Pair> pairs;

/* The next block of 32 bytes has a pointer behind its end to one that nothing else holds. */
void leave_behind(char leak)
{
	void **before = static_cast<void **>(malloc(40));
	void *lost = calloc(1, 100);
	account(lost, 100, leak, "lost");
	before[4] = lost;
	__asm__ volatile("" : : "r"(before) : "memory");
	free(before);
}

void fill()
{
	for (int i = 0; i < 20; i++) {
		if (i % 8 == 7)
			leave_behind('d');
		Node *node = static_cast<Node *>(malloc(sizeof(Node)));
		*node = {nodes, {-i, -i, -i}};
		nodes = node;
		/* Behind it stands what belongs to it. */
		void **header = static_cast<void **>(malloc(sizeof(Header) + sizeof(void *)));
		header[4] = calloc(1, 100);
		account(header[4], 100, 'r', "kept");
		headers = new (header) Header{headers, {1, 2, 3}};
		if (i % 2)
			leave_behind('d');
		pairs.push_back({i, i});
	}
	/* Of one alone nobody can tell. */
	leave_behind('r');
	single = static_cast<Single *>(malloc(sizeof(Single)));
	single->numbers[0] = 1;
}

__attribute__((noinline)) void forget()
{
	char stack[32 << 10];
	memset(stack, 0, sizeof(stack));
	__asm__ volatile("" : : "r"(stack) : "memory");
}
} // namespace

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, nullptr, _IONBF, 0);
	/* Nothing that was freed before is left of that size. */
	for (int i = 0; i < 64; i++)
		*static_cast<void *volatile *>(malloc(32)) = nullptr;
	fill();
	forget();
	account_end();
	return !nodes || !headers || !single;
}
