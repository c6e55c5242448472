// SPDX-License-Identifier: GPL-2.0-or-later
// Objects of types that ask for an alignment, amid blocks of other sizes: what is cut out of a
// larger block to align it has a little more behind it.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

struct alignas(64) Line {
	long number;
	Line *next;
	char text[100];
};

// Two of them may be one with what an alignment left, by their size.
struct alignas(32) Pair {
	long number;
	Line *line;
	long more[2];
};

struct alignas(128) Element {
	long numbers[16];
};

static Line *lines, *arrays[20];
static Pair *pairs[20];
static std::vector<Element> *elements;

int main()
{
	elements = new std::vector<Element>[8];
	for (int i = 0; i < 40; i++) {
		lines = new Line{i, lines, "a line"};
		elements[i % 8].push_back(Element{});
		free(malloc(50 * i));
		void *left = malloc(24 * (i % 7) + 1);
		(void)left;
	}
	for (int i = 0; i < 20; i++) {
		pairs[i] = new Pair[2]{{i, lines, {1, 2}}, {i, lines->next, {3, 4}}};
		arrays[i] = new Line[3]{{i, lines, "one"}, {i, lines, "two"}, {i, lines, "three"}};
		free(malloc(70 * i));
		void *left = malloc(24 * (i % 7) + 1);
		(void)left;
	}
	printf("ready\n");
	fflush(stdout);
	pause();
}
