/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pointers to members, of each kind that an ABI knows; and names that a test writes over in the
 * debug information: it needs them to be nowhere else in the file.
 */
#include "account.h"

ACCOUNT_DEFINE;

struct One {
	long one;
	virtual long first()
	{
		return one;
	}
	virtual long second()
	{
		return one + 1;
	}
	long plain()
	{
		return one + 2;
	}
};

struct Two {
	long two;
	virtual long third()
	{
		return two;
	}
	long other()
	{
		return two + 1;
	}
};

struct Both : One, Two {
	long both;
};

struct Pointers {
	Pointers *next;
	long Both::*no_field, Both::*field, Both::*field_of_two;
	long (Both::*none)();
	long (Both::*plain)();
	long (Both::*first)();
	long (Both::*second)();
	long (Both::*other)();
	long (Both::*third)();
};

struct NameOfAType {
	NameOfAType *next;
	long name_of_a_member;
};

static Pointers *pointers;
static NameOfAType *named;
static Both *both;

int main(int argc, char **argv)
{
	account_open(argc, argv);
	both = new Both;
	account(both, sizeof(*both), 'r', "Both");
	pointers = new Pointers{nullptr, nullptr, &Both::both, &Both::two, nullptr, &Both::plain,
		&Both::first, &Both::second, &Both::other, &Both::third};
	account(pointers, sizeof(*pointers), 'r', "Pointers");
	named = new NameOfAType{nullptr, 4711};
	account(named, sizeof(*named), 'r', "named");
	account_end();
	return !pointers || !named || !both;
}
