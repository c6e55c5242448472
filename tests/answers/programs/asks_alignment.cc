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

struct alignas(128) Element {
	long numbers[16];
};

static Line *lines;
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
	printf("ready\n");
	fflush(stdout);
	pause();
}
