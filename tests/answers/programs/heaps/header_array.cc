// SPDX-License-Identifier: GPL-2.0-or-later
// An array of ten elements with their number in front of the first, each of which holds a block:
// the address of the first.
#include <cstdio>
#include <unistd.h>

struct Held {
	int number;
};

struct Element {
	Held *held = nullptr;
	long count = 0;
	~Element()
	{
		count = 1;
	}
};

static Element *elements;

int main()
{
	elements = new Element[10];
	for (int i = 0; i < 10; i++)
		elements[i].held = new Held{i};
	printf("%p\n", static_cast<void *>(elements));
	fflush(stdout);
	pause();
}
