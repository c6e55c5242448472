/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names: namespaces, members, overloads, templates, lambdas and operators, demangled as c++filt
 * does; a name of C linkage is bare.
 */
#include "truth.h"

static uint64_t calls;

/* Each allocation here keeps its block. */
static void *volatile kept;

namespace outer
{
namespace
{
struct hidden {
	TRUTH_FRAME static void allocate(size_t bytes)
	{
		kept = malloc(bytes);
	}
};
} // namespace

struct widget {
	TRUTH_FRAME void grow(int count)
	{
		kept = malloc(501 + static_cast<size_t>(count));
	}
	TRUTH_FRAME void grow(const char *text, double)
	{
		kept = malloc(503 + strlen(text));
	}
	TRUTH_FRAME widget &operator+=(int count)
	{
		kept = malloc(505 + static_cast<size_t>(count));
		return *this;
	}
};

template <class Type, int COUNT> TRUTH_FRAME void fill(Type value)
{
	kept = malloc(COUNT + static_cast<size_t>(value));
}
} // namespace outer

extern "C" TRUTH_FRAME void bare_name(size_t bytes)
{
	kept = malloc(bytes);
}

/* Of one function, or of two overloads of one name together. */
static void expect(const char *name, uint64_t overloads, uint64_t bytes)
{
	truth_say("# expect: function allocations=%lu allocated_bytes=%lu live_blocks=%lu name=%s",
		(unsigned long)(calls * overloads), (unsigned long)(calls * bytes),
		(unsigned long)(calls * overloads), name);
}

int main()
{
	outer::widget widget;
	for (calls = 0; calls < 10; calls++) {
		widget.grow(6);
		widget.grow("text", 1.0);
		widget += 4;
		outer::fill<long, 700>(8L);
		outer::hidden::allocate(901);
		bare_name(903);
	}
	expect("outer::widget::grow", 2, 507 + 507);
	expect("outer::widget::operator+=", 1, 509);
	expect("outer::fill<long, 700>", 1, 708);
	expect("outer::(anonymous namespace)::hidden::allocate", 1, 901);
	expect("bare_name", 1, 903);
	truth_end(TRUTH_PLAIN);
	return 0;
}
