/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * members STORY: blocks of structures and classes, a member of which is printed and was never
 * written. "expect MEMBER" is what debug information calls it; "expect nothing": it can't tell.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Point {
	int x, y;
};
class Shape
{
      public:
	Shape() : id(1)
	{
	}
	virtual ~Shape()
	{
	}
	int id;
	Point at[3];
	int visible;
};
struct Inner {
	short a;
	int b;
};
struct Outer {
	long n;
	Inner in[2];
	char c;
};

static void *xmalloc(size_t size)
{
	void *block = malloc(size);
	if (!block)
		abort();
	return block;
}

static __attribute__((noinline)) Shape *make_shape()
{
	return new Shape;
}

static void tell(const char *member, int value)
{
	printf("expect %s\n%d\n", member, value & 1);
}

static void tell_nested()
{
	Outer *outer = static_cast<Outer *>(xmalloc(sizeof(*outer)));
	tell("in[1].b", outer->in[1].b);
	free(outer);
}

static void tell_array()
{
	Outer *many = static_cast<Outer *>(malloc(5 * sizeof(*many)));
	tell("[3].in[0].b", many[3].in[0].b);
	free(many);
}

static void tell_class()
{
	Shape *shape = new Shape;
	tell("visible", shape->visible);
	delete shape;
}

static void tell_returned()
{
	Shape *shape = make_shape();
	tell("perhaps at[1].y", shape->at[1].y);
	delete shape;
}

static void tell_text()
{
	Outer *outer = nullptr;
	char *text = static_cast<char *>(malloc(sizeof(*outer)));
	tell("nothing", text[12]);
	free(text);
	free(outer);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} stories[] = {{"nested", tell_nested}, {"array", tell_array}, {"class", tell_class},
		{"returned", tell_returned}, {"text", tell_text}};
	for (const auto &story : stories)
		if (argc > 1 && !strcmp(argv[1], story.name))
			story.run();
	return 0;
}
