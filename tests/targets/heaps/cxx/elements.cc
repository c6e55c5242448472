/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Containers, and what their elements point to. Blocks are called "PART ELEMENT" in the account, as
 * tests/e2e/heap/test_heap_types.py writes it out; each container's elements have leaves of a size
 * of their own, so that none is named because it looks like others.
 */
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

enum part { VECTOR, LIST, TREE, HASH, DEQUE, FORWARD };

template <int Longs> struct Leaf {
	long values[Longs];
};
template <int Longs> struct Cell {
	Leaf<Longs> *leaf;
	long number;
	bool operator<(const Cell &other) const
	{
		return number < other.number;
	}
};
enum Colour { RED, GREEN };
namespace
{
struct Hidden {
	long value;
	Colour colour;
	char more[40];
};
} // namespace

/* Elements' names in the account. */
template <class T> struct Named;
#define NAMED(what, name)                                                                          \
	template <> struct Named<what> {                                                           \
		static constexpr const char *is = name;                                            \
	};
#define PAIR(key, value)                                                                           \
	template <> struct Named<std::pair<const key, value>> {                                    \
		static constexpr const char *is = "pair<" #key ", " #value ">";                    \
	};
NAMED(Cell<4>, "Cell<4>")
NAMED(Cell<8>, "Cell<8>")
NAMED(Cell<10>, "Cell<10>")
NAMED(Cell<12>, "Cell<12>")
NAMED(Cell<14>, "Cell<14>")
NAMED(Cell<6> *, "Cell<6>*")
NAMED(Cell<20> *, "Cell<20>*")
NAMED(Cell<18>, "Cell<18>")
NAMED(Hidden, "Hidden")
NAMED(Colour, "Colour")
NAMED(int, "int")
NAMED(double, "double")
PAIR(int, Cell<16>)
PAIR(long, Cell<22> *)

template <class T, part Part> const char *type_of()
{
	static char name[32];
	static const char *const parts[] = {"vector", "list", "tree", "hash", "deque", "forward"};
	snprintf(name, sizeof(name), "%s %s", parts[Part], Named<T>::is);
	return name;
}

/* Nodes are named after what they hold; tables beside them are not looked at. */
template <class T, part Part, class Element = T> struct Accounting {
	using value_type = T;
	template <class U> struct rebind {
		using other = Accounting<U, Part, Element>;
	};
	Accounting() = default;
	template <class U> Accounting(const Accounting<U, Part, Element> &)
	{
	}
	T *allocate(size_t count)
	{
		void *block = malloc(count * sizeof(T));
		bool is_table = (Part == HASH || Part == DEQUE) && sizeof(T) == sizeof(void *) &&
				!std::is_same<T, Element>::value;
		if (!is_table)
			account(block, count * sizeof(T), 'r', type_of<Element, Part>());
		return static_cast<T *>(block);
	}
	void deallocate(T *block, size_t)
	{
		for (unsigned i = account_file.count; i-- > 0;) {
			if (account_file.rows[i].address != ~reinterpret_cast<uint64_t>(block))
				continue;
			account_freed(i);
			break;
		}
		free(block);
	}
	bool operator==(const Accounting &) const
	{
		return true;
	}
	bool operator!=(const Accounting &) const
	{
		return false;
	}
};

template <class T> using vector = std::vector<T, Accounting<T, VECTOR>>;
template <class T> using list = std::list<T, Accounting<T, LIST>>;
template <class T> using deque = std::deque<T, Accounting<T, DEQUE>>;
template <class T> using forward = std::forward_list<T, Accounting<T, FORWARD>>;
template <class T> using set = std::set<T, std::less<T>, Accounting<T, TREE>>;
template <class K, class V>
using map = std::map<K, V, std::less<K>, Accounting<std::pair<const K, V>, TREE>>;
template <class K, class V>
using unordered_map = std::unordered_map<K, V, std::hash<K>, std::equal_to<K>,
	Accounting<std::pair<const K, V>, HASH>>;
template <class K>
using unordered_set = std::unordered_set<K, std::hash<K>, std::equal_to<K>, Accounting<K, HASH>>;

struct World {
	vector<Cell<4>> cells;
	vector<Cell<6> *> pointers;
	list<Cell<8>> cell_list;
	set<Cell<10>> cell_set;
	map<int, Cell<16>> cell_map;
	unordered_map<long, Cell<22> *> by_number;
	unordered_set<int> numbers;
	deque<Cell<12>> queue;
	deque<Cell<20> *> pointer_queue;
	list<double> doubles;
	set<Colour> colours;
	list<Hidden> hidden;
	forward<Cell<14>> chain;
	std::shared_ptr<Cell<18>> shared;
	std::shared_ptr<Cell<26>> made;
	std::unique_ptr<Cell<24>> unique;
};

World *world;

template <int Longs> Leaf<Longs> *leaf()
{
	char name[32];
	void *block = calloc(1, sizeof(Leaf<Longs>));
	snprintf(name, sizeof(name), "Leaf<%d>", Longs);
	account(block, sizeof(Leaf<Longs>), 'r', name);
	return static_cast<Leaf<Longs> *>(block);
}

template <int Longs> Cell<Longs> *cell(int number)
{
	char name[32];
	void *block = malloc(sizeof(Cell<Longs>));
	snprintf(name, sizeof(name), "Cell<%d>", Longs);
	account(block, sizeof(Cell<Longs>), 'r', name);
	return new (block) Cell<Longs>{leaf<Longs>(), number};
}

int main(int argc, char **argv)
{
	setvbuf(stdout, nullptr, _IONBF, 0);
	account_open(argc, argv);
	/* Some containers allocate when they are made. */
	void *block = malloc(sizeof(World));
	account(block, sizeof(World), 'r', "World");
	world = new (block) World;
	for (int i = 0; i < 300; i++) {
		world->cells.push_back({leaf<4>(), i});
		world->pointers.push_back(cell<6>(i));
		world->cell_list.push_back({leaf<8>(), i});
		world->cell_set.insert({leaf<10>(), i});
		world->cell_map[i] = {leaf<16>(), i};
		world->by_number[i] = cell<22>(i);
		world->numbers.insert(i);
		world->queue.push_back({leaf<12>(), i});
		world->pointer_queue.push_back(cell<20>(i));
		world->doubles.push_back(i);
		world->hidden.push_back(Hidden{i, RED, {0}});
		world->chain.push_front({leaf<14>(), i});
	}
	for (int i = 0; i < 1500; i++) {
		world->queue.push_back({leaf<12>(), i});
		world->pointer_queue.push_back(cell<20>(i));
	}
	world->colours = {RED, GREEN};
	world->shared.reset(cell<18>(1));
	world->made = std::make_shared<Cell<26>>(Cell<26>{leaf<26>(), 2});
	world->unique.reset(cell<24>(3));
	account_end();
	return 0;
}
