/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that nothing declared leads to: all are held by void * in memory that is mapped, so only
 * what they look like tells their types. The account has the types' names as debug information has
 * them; "known" ones are of classes with virtual functions.
 */
#include <list>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>

#include "account.h"

ACCOUNT_DEFINE;

struct Known {
	long number = 3;
	virtual ~Known() = default;
};
struct Other {
	double values[2] = {1, 2};
	virtual ~Other() = default;
};
/* Of the same size with pointers at the same places. */
struct ToKnown {
	Known *known;
	double weight;
	const char *name;
	int counts[3];
	bool ready;
};
struct ToOther {
	Other *other;
	double weight;
	const char *name;
	int counts[3];
	bool ready;
};
struct Link {
	Link *next, *before;
	void *content;
	float ratio[6];
	short flags;
};
struct Value {
	Known *first;
	double more[4];
	char *text;
};
struct Element {
	char *text = nullptr;
	double number = 0.5;
	~Element()
	{
		free(text);
	}
};

static std::shared_ptr<Link> *volatile shared;
static const char *next_type;
static void **held;
static unsigned held_count;

static void hold(void *block)
{
	held[held_count++] = block;
}

void *operator new(size_t size)
{
	void *block = calloc(1, size);
	if (!block)
		throw std::bad_alloc();
	if (next_type)
		account(block, size, 'r', next_type);
	hold(block);
	return block;
}
void *operator new[](size_t size)
{
	return operator new(size);
}
void operator delete(void *) noexcept
{
}
void operator delete(void *, size_t) noexcept
{
}
void operator delete[](void *) noexcept
{
}
void operator delete[](void *, size_t) noexcept
{
}

template <class T> static T *make(const char *type)
{
	next_type = type;
	T *object = new T();
	next_type = nullptr;
	return object;
}

/* So that the words of what is hidden are no containers' own. */
struct Cover {
	std::list<Value> list;
	std::unordered_map<long, Value> map;
};

static Value value_of(unsigned i)
{
	return {make<Known>("known"), {0.25, 0.5, 0.75, 1.5 + i}, static_cast<char *>(malloc(20))};
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	held = static_cast<void **>(
		mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (unsigned i = 0; i < 20; i++) {
		ToKnown *one = make<ToKnown>("ToKnown");
		*one = {make<Known>("known"), 0.1, "one", {1, 2, 3}, true};
		ToOther *other = make<ToOther>("ToOther");
		*other = {make<Other>("known"), 0.1, "other", {4, 5, 6}, false};
	}
	Link *last = nullptr;
	for (unsigned i = 0; i < 30; i++) {
		Link *link = make<Link>("Link");
		link->next = last;
		link->content = argv;
		link->ratio[1] = 1.5f;
		if (last)
			last->before = link;
		last = link;
	}
	/* A container's own words are not kept: they stand inverted. */
	Cover *cover = new (malloc(sizeof(Cover))) Cover;
	for (unsigned i = 0; i < 10; i++) {
		Value value = value_of(i);
		next_type = "std::_List_node<Value>";
		cover->list.push_back(value);
		next_type = nullptr;
	}
	uint64_t *words = reinterpret_cast<uint64_t *>(cover);
	for (unsigned i = 0; i < sizeof(Cover) / 8; i++)
		words[i] = ~words[i];
	next_type = "shared_ptr control block of Link";
	shared = new (malloc(64)) std::shared_ptr<Link>(std::make_shared<Link>());
	next_type = nullptr;
	for (unsigned i = 0; i < 5; i++) {
		next_type = "Element[]";
		Element *elements = new Element[7];
		next_type = nullptr;
		for (unsigned k = 0; k < 7; k++)
			elements[k].text = static_cast<char *>(malloc(30));
	}
	account_end();
	return !shared;
}
