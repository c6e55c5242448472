// SPDX-License-Identifier: GPL-2.0-or-later
/* An object of several base classes, held as one of the later ones: the pointer is to a vtable
 * pointer inside of an object that begins with one. Known to be as good as the start; an interior
 * pointer without the heuristic. */
#include "leaks.h"
#include <new>

struct first_base {
	long first = 1;
	virtual ~first_base() = default;
	virtual long one()
	{
		return first;
	}
};

struct second_base {
	long second = 2;
	virtual ~second_base() = default;
	virtual long two()
	{
		return second;
	}
};

struct third_base {
	long third = 3;
	virtual ~third_base() = default;
	virtual long three()
	{
		return third;
	}
};

struct derived : first_base, second_base, third_base {
	long payload[7] = {};
	long two() override
	{
		return payload[1];
	}
};

LEAK_ROLE_AS(held_as_second, (), sizeof(derived), new derived())
LEAK_ROLE_AS(held_as_third, (), sizeof(derived), new derived())
LEAK_ROLE_AS(held_at_member, (), sizeof(derived), new derived())
LEAK_ROLE(behind_second)

static void *volatile kept[3];

TRUTH_FRAME static void story()
{
	derived *object = (derived *)held_as_second();
	object->payload[3] = (long)behind_second(104);
	kept[0] = static_cast<second_base *>(object);
	object = (derived *)held_as_third();
	kept[1] = static_cast<third_base *>(object);
	object = (derived *)held_at_member();
	kept[2] = &object->payload[0];
}

TRUTH_FRAME static void tell(enum leak_kind kind)
{
	LEAKS_ARE(kind, held_as_second);
	LEAKS_ARE(kind, behind_second);
	LEAKS_ARE(kind, held_as_third);
	LEAKS_ARE(LEAK_POSSIBLE, held_at_member);
}

int main()
{
	story();
	tell(LEAK_REACHABLE);
	leaks_with("--leak-check-heuristics=none");
	tell(LEAK_POSSIBLE);
	leaks_with("--leak-check-heuristics=multipleinheritance");
	tell(LEAK_REACHABLE);
	leaks_with("--leak-check-heuristics=stdstring,length64,newarray");
	tell(LEAK_POSSIBLE);
	leaks_end();
	return 0;
}
