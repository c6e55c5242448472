/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every container of the C++ library, held by globals, by the stack and by other containers; beside
 * them what only looks like their memory. */
#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

enum kind { STRING, VECTOR, LIST, TREE, HASH, DEQUE };

/* What a container of that kind allocates elements of type T for. */
template <class T, kind Kind> static const char *type_of()
{
	switch (Kind) {
	case STRING:
		return "std::string buffer";
	case VECTOR:
		return "std::vector buffer";
	case LIST:
		return "std::list node";
	case TREE:
		return "std::map/set node";
	case HASH:
		return std::is_pointer<T>::value ? "std::unordered buckets" : "std::unordered node";
	default:
		return std::is_pointer<T>::value ? "std::deque map" : "std::deque block";
	}
}

template <class T, kind Kind> struct Accounting {
	using value_type = T;
	template <class U> struct rebind {
		using other = Accounting<U, Kind>;
	};
	Accounting() = default;
	template <class U> Accounting(const Accounting<U, Kind> &)
	{
	}
	T *allocate(size_t count)
	{
		void *block = malloc(count * sizeof(T));
		account(block, count * sizeof(T), 'r', type_of<T, Kind>());
		return static_cast<T *>(block);
	}
	void deallocate(T *block, size_t)
	{
		for (unsigned i = account_file.count; i-- > 0;) {
			account_row &row = account_file.rows[i];
			if (row.address != ~reinterpret_cast<uint64_t>(block))
				continue;
			row.state = 'f';
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

using string = std::basic_string<char, std::char_traits<char>, Accounting<char, STRING>>;
template <class T> using vector = std::vector<T, Accounting<T, VECTOR>>;
template <class T> using list = std::list<T, Accounting<T, LIST>>;
template <class T> using deque = std::deque<T, Accounting<T, DEQUE>>;
template <class T> using set = std::set<T, std::less<T>, Accounting<T, TREE>>;
template <class K, class V>
using map = std::map<K, V, std::less<K>, Accounting<std::pair<const K, V>, TREE>>;
template <class K, class V>
using unordered_map = std::unordered_map<K, V, std::hash<K>, std::equal_to<K>,
	Accounting<std::pair<const K, V>, HASH>>;
template <class K>
using unordered_set = std::unordered_set<K, std::hash<K>, std::equal_to<K>, Accounting<K, HASH>>;

/* What is no container's; "plain" is of no name. */
static void *plain(size_t size, int byte)
{
	void *block = malloc(size);
	memset(block, byte, size);
	account(block, size, 'r', "plain");
	return block;
}

static string text(unsigned number, unsigned length)
{
	char digits[16];
	snprintf(digits, sizeof(digits), "%u.", number);
	string all(digits);
	while (all.size() < length)
		all += static_cast<char>('a' + all.size() % 26);
	return all;
}

/* One with virtual functions: memory for many of them is a vector's. */
struct Point {
	long x = 1, y = 2;
	virtual ~Point() = default;
	virtual long sum() const
	{
		return x + y;
	}
};

struct Many {
	long number = 7;
	list<int> ints;
	set<string> names;
	unordered_map<int, string> by_number;
	deque<long> longs;
	vector<string> strings;
	string one;
	map<int, map<int, long>> nested;
};

/* The list is what the block begins with. */
struct Leading {
	list<long> longs;
	long more[10];
};

/* Looks like a string or a vector: not terminated; not full. */
struct Buffer {
	char *data;
	size_t len, capacity;
};
struct Ring {
	Ring *next, *before;
	long number;
};
struct Decoys {
	Buffer unterminated, loose;
	Ring *first, *last;
	size_t ring_count; /* wrong by one */
	void **begin, **end, **limit;
};

static Many *many;
static Decoys *decoys;
static Leading *leading;
static vector<string> *lines;
static list<string> words;
static map<string, int> numbers;
static unordered_set<long> longs;
static vector<Point> points;
static deque<Point> *queue;
static vector<vector<short>> table;
static list<unordered_map<int, int>> maps;
static set<long> one;
static list<long> single;
static unordered_map<int, int> first_only;

static void fill_many()
{
	many = new (malloc(sizeof(Many))) Many;
	account(many, sizeof(Many), 'r', "plain");
	for (int i = 0; i < 500; i++) {
		many->ints.push_back(i);
		many->names.insert(
			text(static_cast<unsigned>(i), 10 + static_cast<unsigned>(i) % 40));
		many->by_number[i * 7] = text(static_cast<unsigned>(i), 60);
		many->longs.push_back(i);
		many->strings.push_back(text(static_cast<unsigned>(i), static_cast<unsigned>(i)));
		many->nested[i % 20][i] = i;
	}
	many->one = text(3, 100000);
}

static void fill_globals()
{
	lines = new (malloc(sizeof(*lines))) vector<string>;
	account(lines, sizeof(*lines), 'r', "plain");
	/* Even an empty one has memory: it cannot be there before main(). */
	queue = new (malloc(sizeof(*queue))) deque<Point>;
	account(queue, sizeof(*queue), 'r', "plain");
	for (unsigned i = 0; i < 3000; i++) {
		lines->push_back(text(i, 5 + i % 50));
		words.push_front(text(i, 40));
		numbers[text(i * 7919 % 3000, 20 + i % 9)] = 1;
		longs.insert(i * 31);
		points.push_back(Point());
		queue->push_back(Point());
		table.push_back(vector<short>(i % 100 + 1));
	}
	for (unsigned i = 0; i < 1500; i++) {
		words.pop_back();
		numbers.erase(numbers.begin());
		longs.erase(i * 31);
		queue->pop_front();
	}
	leading = new (malloc(sizeof(Leading))) Leading{};
	account(leading, sizeof(Leading), 'r', "plain");
	for (int i = 0; i < 20; i++)
		leading->longs.push_back(i);
	for (int i = 0; i < 50; i++) {
		maps.emplace_back();
		for (int k = 0; k < i; k++)
			maps.back()[k] = i;
	}
	one.insert(4);
	single.push_back(5);
	first_only[6] = 1;
}

static void make_decoys()
{
	decoys = static_cast<Decoys *>(plain(sizeof(Decoys), 0));
	decoys->unterminated = {static_cast<char *>(plain(101, 'x')), 50, 100};
	decoys->loose = {static_cast<char *>(plain(400, 0)), 50, 100};
	Ring *rings[5];
	for (Ring *&ring : rings)
		ring = static_cast<Ring *>(plain(sizeof(Ring), 0));
	Ring *head = reinterpret_cast<Ring *>(&decoys->first);
	for (unsigned i = 0; i < 5; i++) {
		rings[i]->before = i ? rings[i - 1] : head;
		rings[i]->next = i < 4 ? rings[i + 1] : head;
		rings[i]->number = i;
	}
	decoys->first = rings[0];
	decoys->last = rings[4];
	decoys->ring_count = 4;
	/* Of a vector the whole block would be. */
	decoys->begin = static_cast<void **>(plain(4000, 0));
	decoys->end = decoys->begin + 10;
	decoys->limit = decoys->begin + 100;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, nullptr, _IONBF, 0);
	account_open(argc, argv);
	fill_many();
	fill_globals();
	make_decoys();
	map<int, string> here;
	vector<long> on_stack;
	deque<char> characters;
	for (int i = 0; i < 300; i++) {
		here[i] = text(static_cast<unsigned>(i), 33);
		on_stack.push_back(i);
		characters.push_back('c');
	}
	/* Only what memory has is seen. */
	asm volatile("" : : "r"(&here), "r"(&on_stack), "r"(&characters) : "memory");
	account_end();
	return here.empty() || on_stack.empty() || characters.empty();
}
