/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that begin with an object of a class, and are something larger: plain structures that
 * pointers are declared to, that nothing leads to, of which several fit; room behind an object;
 * arrays. */
#include <new>

#include "account.h"

ACCOUNT_DEFINE;

namespace zoo
{

struct Poly {
	virtual ~Poly() = default;
	long number = 7;
};
/* Pointers to it are declared. */
struct Declared {
	Poly poly;
	char *text;
	char name[40];
};

/* The one structure that begins so, and has so many bytes. */
struct Sole {
	virtual ~Sole() = default;
	int number = 8;
};
struct Around {
	Sole sole;
	char *text;
};
struct Unique {
	Around around;
	long many[9];
	void *last;
};

/* Two are like that. */
struct Twofold {
	virtual ~Twofold() = default;
	int number = 9;
};
struct First {
	Twofold object;
	long many[8];
};
struct Second {
	Twofold object;
	double many[8];
};

/* Nothing is. */
struct Roomy {
	virtual ~Roomy() = default;
	char text[32] = "roomy";
};

/* Not destroyed, so that arrays have no number in front. */
struct Element {
	virtual long value()
	{
		return number;
	}
	long number = 10;
};
struct Many : Element {
	long value() override
	{
		return number + 1;
	}
};

/* What has so much beside it that allocators give. */
struct Plain {
	virtual ~Plain() = default;
	long more[4] = {};
};
struct PlainAndMore {
	Plain plain;
	char *text;
};

/* Where it may begin is cut out of more than it has. */
struct alignas(64) Aligned {
	virtual ~Aligned() = default;
	long more[3] = {};
};

} // namespace zoo

/* Another file may have another one. */
namespace
{
struct Nobody {
	virtual ~Nobody() = default;
	long number = 3;
};
} // namespace

/* Names that are shorter than what stands above them. */
struct A {
	virtual ~A() = default;
	long first = 1;
};
struct B : A {
	long second = 2;
};

using namespace zoo;

static Declared *declared[8];
static void *hidden[64];
static Plain *plain;
static Aligned *aligned[200];
static void *between[200];
static unsigned hidden_count;

static void *hide(void *block, size_t size, const char *type)
{
	account(block, size, 'r', type);
	hidden[hidden_count++] = block;
	return block;
}

static char *text_of(const char *type)
{
	char *text = static_cast<char *>(malloc(100));
	strcpy(text, "some text");
	account(text, 100, 'r', type);
	return text;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	for (unsigned i = 0; i < 8; i++) {
		declared[i] = new Declared{{}, i ? text_of("char[]") : nullptr, "a name"};
		account(declared[i], sizeof(Declared), 'r', "zoo::Declared");
		Unique *unique = new Unique{{{}, i % 2 ? text_of("char[]") : nullptr}, {}, &hidden};
		hide(unique, sizeof(Unique), "zoo::Unique");
		First *first = new First;
		hide(first, sizeof(First), "zoo::Twofold with more after it");
		void *room = calloc(1, sizeof(Roomy) + 100 + 50 * i);
		hide(new (room) Roomy, sizeof(Roomy) + 100 + 50 * i,
			"zoo::Roomy with more after it");
		hide(new Element[3 + i], (3 + i) * sizeof(Element), "zoo::Element[]");
		hide(new Plain, sizeof(Plain), "zoo::Plain");
	}
	hide(new (calloc(1, 200)) Nobody, 200, "(anonymous namespace)::Nobody");
	/* The same as those that are declared, but nothing says so. */
	hide(new Declared{{}, text_of("char[]"), "hidden"}, sizeof(Declared), "zoo::Declared");
	Second *second = new Second;
	hide(second, sizeof(Second), "zoo::Twofold with more after it");
	PlainAndMore *more = new PlainAndMore{{}, text_of("char[]")};
	hide(more, sizeof(PlainAndMore), "zoo::PlainAndMore");
	plain = new Plain;
	account(plain, sizeof(Plain), 'r', "zoo::Plain");
	/* Not each element is looked at; pages have room behind the last one. */
	hide(new Many[100000], 100000 * sizeof(Many), "zoo::Many[]");
	for (unsigned i = 0; i < 200; i++) {
		/* Between others, so that not each has the same room in front. */
		between[i] = malloc(24 + 16 * (i * 7 % 13));
		aligned[i] = new Aligned;
		account(aligned[i], sizeof(Aligned), 'r', "zoo::Aligned");
	}
	hide(new A, sizeof(A), "A");
	hide(new B, sizeof(B), "B");
	account_end();
	return !hidden[0] || !declared[0] || !plain || !aligned[0] || !between[0];
}
