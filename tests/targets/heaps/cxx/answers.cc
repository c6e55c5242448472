/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classes that derive from others, with and without tables of functions; types that blocks only
 * have inside; shared_ptr's forms of counting. */
#include <memory>
#include <new>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

namespace zoo
{

struct Base {
	virtual ~Base() = default;
	long number = 71;
};
struct Derived : Base {
	long extra[3] = {1, 2, 3};
};
struct Further : Derived {
	double weight = 0.5;
};
struct Other {
	virtual ~Other() = default;
	int other = 5;
};
struct Both : Other, Base {
	int last = 9;
};
struct Hidden : virtual Base {
	long hidden = 3;
};

struct Plain {
	long first = 17;
	int second = 4;
};
struct More : Plain {
	long third[4] = {};
};

struct Inside {
	int left, middle, right;
};
struct Nowhere {
	int nothing;
};

/* Objects of it are elements alone, of what nothing declares. */
struct Crowded {
	virtual ~Crowded() = default;
	long one = 1;
};

/* A place for what derives from it, or for either of two; neither is a content. */
template <class T> struct Opaque {
	alignas(8) unsigned char bytes[16];
};
struct Handle : Opaque<Handle> {
};
template <class A, class B> struct Either {
	struct Box {
		union {
			A first;
			B second;
		};
	} box;
	long tag;
};
struct Odds {
	Odds *next;
	Either<int, double> either;
	int Inside::*const field = &Inside::right;
};
namespace
{
struct Unnamed {
	Unnamed *next;
	long number;
};
} // namespace

/* What shared_ptr holds, each with values of its own. */
struct Record {
	long key, value;
};

} // namespace zoo

using namespace zoo;

static std::vector<Base *> *bases;
static More *more;
static Plain *plain;
static std::vector<Inside> insides;
static std::shared_ptr<Record> joined, beside, deleted;
static Nowhere nowhere;
static void *crowd;
static Handle *handle;
static Odds *odds;
static Unnamed *unnamed;

static const char *next_type;

void *operator new(size_t size)
{
	void *block = calloc(1, size);
	if (!block)
		throw std::bad_alloc();
	if (next_type)
		account(block, size, 'r', next_type);
	next_type = nullptr;
	return block;
}
void operator delete(void *) noexcept
{
}
void operator delete(void *, size_t) noexcept
{
}

template <class T> static void make(const char *type, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		next_type = type;
		bases->push_back(new T);
	}
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	bases = new std::vector<Base *>;
	bases->reserve(100);
	make<Base>("zoo::Base", 5);
	make<Derived>("zoo::Derived", 4);
	make<Further>("zoo::Further", 3);
	make<Both>("zoo::Both", 2);
	make<Hidden>("zoo::Hidden", 2);
	next_type = "zoo::More";
	more = new More;
	next_type = "zoo::Plain";
	plain = new Plain;
	next_type = "std::vector buffer of zoo::Inside";
	insides.resize(20, Inside{11, 12, 13});
	next_type = "shared_ptr control block of zoo::Record";
	joined = std::make_shared<Record>(Record{101, 102});
	next_type = "zoo::Record";
	Record *record = new Record{103, 104};
	next_type = "shared_ptr control block of zoo::Record*";
	beside = std::shared_ptr<Record>(record);
	next_type = "zoo::Record";
	record = new Record{105, 106};
	next_type = "shared_ptr control block of zoo::Record*, deleted by "
		    "std::default_delete<zoo::Record>";
	deleted = std::shared_ptr<Record>(record, std::default_delete<Record>());
	crowd = new std::vector<Crowded>(10);
	next_type = "zoo::Handle";
	handle = new Handle;
	for (unsigned i = 0; i < sizeof(handle->bytes); i++)
		handle->bytes[i] = 'a';
	next_type = "zoo::Odds";
	odds = new Odds{};
	odds->either.box.second = 2.5;
	next_type = "zoo::(anonymous namespace)::Unnamed";
	unnamed = new Unnamed{nullptr, 1};
	account_end();
	return nowhere.nothing + (bases->empty() || !more || !plain || insides.empty() || !crowd ||
					 !handle || !odds || !unnamed);
}
