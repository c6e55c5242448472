/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects with virtual functions: of templates, with several and virtual bases, of a class that
 * only this file knows, and what shared_ptr keeps beside its objects. */
#include <memory>
#include <new>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

namespace geometry
{
struct Shape {
	long number = 1;
	virtual ~Shape() = default;
	virtual double area() const = 0;
};
struct Square : Shape {
	double side = 2;
	double area() const override
	{
		return side * side;
	}
};
template <class T> struct Holder : Shape {
	T value[3] = {};
	double area() const override
	{
		return static_cast<double>(sizeof(T));
	}
};
struct Named {
	const char *name = "named";
	virtual ~Named() = default;
	virtual const char *text() const
	{
		return name;
	}
};
struct Both : Square, Named {
	long more[4] = {};
};
struct Left : virtual Named {
	long left[2] = {};
};
struct Right : virtual Named {
	long right[2] = {};
};
struct Diamond : Left, Right {
	long bottom = 4;
};
} // namespace geometry

namespace
{
struct Local {
	char text[90] = "local";
	virtual ~Local() = default;
	virtual int length() const
	{
		return 5;
	}
};
} // namespace

using namespace geometry;

static std::vector<void *> *all;
static std::shared_ptr<Square> *joined, *beside;

/* What the next block is, for operator new; NULL: not of interest. */
static const char *next_type;

void *operator new(size_t size)
{
	void *block = calloc(1, size);
	if (!block)
		throw std::bad_alloc();
	account(block, size, 'r', next_type ? next_type : "plain");
	next_type = nullptr;
	return block;
}
void operator delete(void *block) noexcept
{
	if (block)
		abort();
}
void operator delete(void *block, size_t) noexcept
{
	if (block)
		abort();
}

template <class T> static void make(const char *type, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		next_type = type;
		all->push_back(new T);
	}
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	all = new std::vector<void *>;
	next_type = "std::vector buffer";
	all->reserve(1000);
	make<Square>("geometry::Square", 100);
	make<Holder<char>>("geometry::Holder<char>", 50);
	make<Holder<Square *>>("geometry::Holder<geometry::Square*>", 50);
	make<Both>("geometry::Both", 30);
	make<Diamond>("geometry::Diamond", 20);
	make<Local>("(anonymous namespace)::Local", 10);
	next_type = "shared_ptr control block of geometry::Square";
	joined = new (malloc(sizeof(*joined))) std::shared_ptr<Square>(std::make_shared<Square>());
	account(joined, sizeof(*joined), 'r', "plain");
	next_type = "geometry::Square";
	Square *square = new Square;
	next_type = "shared_ptr control block of geometry::Square*";
	beside = new (malloc(sizeof(*beside))) std::shared_ptr<Square>(square);
	account(beside, sizeof(*beside), 'r', "plain");
	account_end();
	return all->empty() || !joined || !beside;
}
