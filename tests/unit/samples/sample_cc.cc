/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++: namespaces, templates, members, operators, lambdas, local types, what has internal linkage,
 * and extern "C".
 */
#include "sample.h"

namespace shapes
{
template <class Type> struct box {
	KEPT void fill(Type)
	{
		PLACE("shapes::box<int>::fill");
	}
	__attribute__((always_inline)) inline void inlined_fill(Type)
	{
		PLACE("shapes::box<int>::inlined_fill", "shapes::use");
	}
	KEPT void operator+=(Type)
	{
		PLACE("shapes::box<int>::operator+=");
	}
	KEPT void constant() const
	{
		PLACE("shapes::box<int>::constant");
	}
};

KEPT void use(int value)
{
	box<int> boxed;
	boxed.fill(value);
	CALL(boxed.inlined_fill(value));
	boxed += value;
	boxed.constant();
	PLACE("shapes::use");
}

KEPT static void internal()
{
	PLACE("shapes::internal");
}

INLINED void internal_inlined()
{
	PLACE("shapes::internal_inlined", "shapes::calls_internal");
}

KEPT void calls_internal()
{
	internal();
	CALL(internal_inlined());
	PLACE("shapes::calls_internal");
}

namespace
{
struct hidden {
	KEPT void member()
	{
		PLACE("shapes::(anonymous namespace)::hidden::member");
	}
	__attribute__((always_inline)) inline void inlined_member()
	{
		PLACE("shapes::(anonymous namespace)::hidden::inlined_member", "main");
	}
};
} // namespace

inline namespace v1
{
KEPT void versioned()
{
	PLACE("shapes::v1::versioned");
}
} // namespace v1
} // namespace shapes

extern "C" KEPT void plain_c_name(int)
{
	PLACE("plain_c_name");
}

/* A lambda has no name; compilers number them. */
#ifdef __clang__
#define LAMBDA "main::$_0::operator()"
#define INLINED_LAMBDA "main::$_1::operator()"
#else
#define LAMBDA "main::{lambda(int)#1}::operator()"
#define INLINED_LAMBDA "main::{lambda}::operator()"
#endif

struct base {
	KEPT base()
	{
		PLACE("base::base");
	}
	KEPT virtual ~base()
	{
		PLACE("base::~base");
	}
};

int main()
{
	{
		base made;
		shapes::use(1);
	}
	shapes::calls_internal();
	shapes::hidden hidden;
	hidden.member();
	CALL(hidden.inlined_member());
	shapes::versioned();
	plain_c_name(1);
	auto lambda = [](int) __attribute__((noinline))
	{
		PLACE(LAMBDA);
	};
	lambda(2);
	auto inlined = []() __attribute__((always_inline))
	{
		PLACE(INLINED_LAMBDA, "main");
	};
	CALL(inlined());
	PLACE("main");
	return 0;
}
