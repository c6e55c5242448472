// SPDX-License-Identifier: GPL-2.0-or-later
// Types that are larger than any that are written by hand: a class that derives from another behind
// thousands of members of a first one, and a class whose name has thousands of characters.
#include <cstdio>
#include <unistd.h>
#include <utility>

#define TEN(p) p##0, p##1, p##2, p##3, p##4, p##5, p##6, p##7, p##8, p##9
#define HUNDRED(p)                                                                                 \
	TEN(p##0), TEN(p##1), TEN(p##2), TEN(p##3), TEN(p##4), TEN(p##5), TEN(p##6), TEN(p##7),    \
		TEN(p##8), TEN(p##9)
#define THOUSAND(p)                                                                                \
	HUNDRED(p##0), HUNDRED(p##1), HUNDRED(p##2), HUNDRED(p##3), HUNDRED(p##4), HUNDRED(p##5),  \
		HUNDRED(p##6), HUNDRED(p##7), HUNDRED(p##8), HUNDRED(p##9)

struct Bulk {
	char THOUSAND(a), THOUSAND(b), THOUSAND(c), THOUSAND(d), THOUSAND(e);
};

struct Base {
	long number;
	Base *next;
};

struct Wide : Bulk, Base {
};

template <int... numbers> struct Row {
	virtual ~Row()
	{
	}
	long here[sizeof...(numbers)];
};

template <int... numbers> static void *make_row(std::integer_sequence<int, numbers...>)
{
	return new Row<numbers...>;
}

static Wide *wides[20];
static Base *bases[5];
static void *rows[7];

int main()
{
	for (Wide *&wide : wides)
		wide = new Wide();
	for (Base *&base : bases)
		base = new Base();
	for (void *&row : rows)
		row = make_row(std::make_integer_sequence<int, 1500>());
	puts("ready");
	fflush(stdout);
	pause();
}
