/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Containers in std::any, in what a std::function has captured, in an optional and a variant of
 * these. Of the blocks that the containers have, the account says which elements they hold, by
 * names that tests know: each is told by debug information alone, and by nothing but the std::any.
 */
#include <any>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

struct Point {
	int x;
	double y;
};

template <class Of> static std::vector<Of> vector(std::size_t count)
{
	return std::vector<Of>(count);
}

struct Held {
	std::any ints, text, map, texts, hash, list, number, none;
	std::any choice, option;
	std::optional<std::any> maybe;
	std::variant<int, std::any> either;
	std::vector<std::any> several;
	std::function<int(int)> captures, captures_any;
};
extern Held *held;
Held *held;

template <class Of> static Of &in(std::any &any)
{
	return *std::any_cast<Of>(&any);
}

template <class Of> static void note(const std::vector<Of> &of, const char *name)
{
	account(of.data(), of.capacity() * sizeof(Of), 'r', name);
}

using Map = std::map<int, std::string>;
using Shorts = std::vector<short>;

static void fill_anys(Held *h)
{
	h->ints = vector<int>(7);
	note(in<std::vector<int>>(h->ints), "int");
	h->text = std::string(300, 's');
	h->map = Map{{1, "one"}, {2, "two"}};
	account(reinterpret_cast<char *>(&*in<Map>(h->map).begin()) - 32, 72, 'r', "map");
	h->texts = std::vector<std::string>{"a", std::string(80, 'b')};
	note(in<std::vector<std::string>>(h->texts), "texts");
	h->hash = std::unordered_map<int, Point>{{4, {1, 2.5}}};
	h->list = std::list<Point>{{1, 1.5}, {3, 3.5}};
	account(reinterpret_cast<char *>(&in<std::list<Point>>(h->list).front()) - 16, 32, 'r',
		"list");
	h->number = 12;
	h->choice = std::variant<int, std::vector<long>>(vector<long>(9));
	note(std::get<1>(in<std::variant<int, std::vector<long>>>(h->choice)), "long");
	h->option = std::optional<std::vector<float>>(vector<float>(33));
	note(*in<std::optional<std::vector<float>>>(h->option), "float");
	h->maybe = std::any(vector<double>(21));
	note(in<std::vector<double>>(*h->maybe), "double");
	h->either = std::any(vector<Shorts>(17));
	note(in<std::vector<Shorts>>(std::get<1>(h->either)), "shorts");
	h->several.push_back(vector<Point>(13));
	h->several.push_back(std::any(std::string("k")));
	note(in<std::vector<Point>>(h->several[0]), "Point");
}

struct Gone {
	long numbers[5];
};
static void *volatile reused;

/* Behind the last element stands one that is no more, and its memory is another block. */
static void pop(Held *h)
{
	h->several.reserve(8);
	h->several.push_back(vector<Gone>(9));
	h->several.pop_back();
	reused = calloc(9, sizeof(Gone));
	account(reused, 9 * sizeof(Gone), 'r', "plain");
}

/* What captures them is in a block of its own. */
static void fill_functions(Held *h)
{
	std::vector<Point *> pointers = vector<Point *>(41);
	std::any any = vector<unsigned>(77);
	h->captures = [pointers](int i) { return static_cast<int>(pointers.size()) + i; };
	h->captures_any = [any](int i) { return static_cast<int>(any.has_value()) + i; };
}

struct Shown {
	long numbers[6];
};
struct Opened {
	long numbers[8];
};
struct Queued {
	long numbers[10];
};
struct Handle {
	Opened *opened;
};
struct Job {
	long number;
	std::any payload;
};

template <typename T> static T *noted(const char *type)
{
	T *object = new T();
	account(object, sizeof(T), 'r', type);
	return object;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, nullptr, _IONBF, 0);
	account_open(argc, argv);
	held = new Held();
	account(held, sizeof(*held), 'r', "Held");
	fill_anys(held);
	fill_functions(held);
	pop(held);
	std::any pointer = noted<Shown>("Shown"), handle = Handle{noted<Opened>("Opened")};
	Job job = {1, noted<Queued>("Queued")};
	account_end();
	asm volatile("" : : "r"(&pointer), "r"(&handle), "r"(&job) : "memory");
	return 0;
}
