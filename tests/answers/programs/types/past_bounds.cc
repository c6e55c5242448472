// SPDX-License-Identifier: GPL-2.0-or-later
// One thing past each bound of docs/limits.md that a program can be past cheaply. An argument
// chooses what is done last: a stack of more frames than are looked at for variables, or a frame
// with more pointers than `why` names.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <unistd.h>
#include <vector>

#define TIMES10(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9)

template <int N> struct Chain {
	Chain<(N + 1) % 10> *next;
	long number[N + 1];
};

#define POINTER(n) void *pointer##n, *second##n, *third##n, *fourth##n, *fifth##n;
struct Fifty {
	TIMES10(POINTER)
};
#define INNER(n) Fifty fifty##n;
struct FiveHundred {
	TIMES10(INNER)
};
#define OUTER(n) FiveHundred five##n;
struct FiveThousand {
	TIMES10(OUTER)
};
#define WIDE(n) FiveThousand thousand##n, thousand_and##n, thousand_more##n;
struct Wide {
	TIMES10(WIDE)
};

using Deep = std::vector<std::vector<std::vector<std::vector<std::vector<
	std::vector<std::vector<std::vector<std::vector<std::vector<std::vector<int *>>>>>>>>>>>;
struct Holder {
	std::tuple<int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int,
		int>
		parts;
	Deep deep;
	Wide *wide;
	int *target;
};

static Chain<0> *chain;
static Holder *holder;
static int *only_on_stack;

template <int N> static void add(Chain<N> *last, int left)
{
	if (!left)
		return;
	last->next = (Chain<(N + 1) % 10> *)calloc(1, sizeof(*last->next));
	add<(N + 1) % 10>(last->next, left - 1);
}

static void wait_here()
{
	printf("%p\n", (void *)holder->target);
	fflush(stdout);
	pause();
}

static void descend(int left)
{
	volatile int mine = left;
	if (left)
		descend(left - 1);
	else
		wait_here();
	mine = 0;
}

static void hold_many()
{
	int *many[1500];
	for (int *&one : many)
		one = holder->target;
	wait_here();
	only_on_stack = many[7];
}

int main(int argc, char **argv)
{
	holder = new Holder();
	holder->target = new int(7);
	holder->wide = (Wide *)calloc(1, sizeof(Wide));
	holder->deep = Deep(1, Deep::value_type(1));
	auto &third = holder->deep[0][0];
	third.resize(1);
	third[0].resize(1);
	third[0][0].resize(1);
	third[0][0][0].resize(1);
	third[0][0][0][0].resize(1);
	third[0][0][0][0][0].resize(1);
	third[0][0][0][0][0][0].resize(1);
	third[0][0][0][0][0][0][0].resize(1);
	third[0][0][0][0][0][0][0][0].push_back(new int(8));
	chain = new Chain<0>();
	add<0>(chain, 99);
	if (argc > 1 && !strcmp(argv[1], "deep"))
		descend(70000);
	else if (argc > 1 && !strcmp(argv[1], "many"))
		hold_many();
	else
		wait_here();
}
