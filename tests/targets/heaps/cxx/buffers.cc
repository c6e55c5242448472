/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings, and what has the same three words in front of it: nodes of lists that begin with two
 * numbers, and nodes of trees that words on a stack point to, left from functions that returned. */
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

/* As a string would have it: a pointer, six characters, room for up to 23. */
struct Link {
	Link *next;
	long six, room;
};

static Link *links[9];
static std::map<int, int> *tree;
static std::list<long> list;
static std::unordered_map<int, long> *table;
static std::vector<std::string> *texts;

static const char *next_type;

void *operator new(size_t size)
{
	void *block = calloc(1, size);
	if (!block)
		throw std::bad_alloc();
	account(block, size, 'r', next_type ? next_type : "?");
	next_type = nullptr;
	return block;
}
void operator delete(void *) noexcept
{
}
void operator delete(void *, size_t) noexcept
{
}

static void make_links()
{
	for (Link *&head : links) {
		for (unsigned i = 0; i < 40; i++) {
			Link *link = static_cast<Link *>(malloc(sizeof(*link)));
			*link = Link{head, 6, 16 + i % 8};
			head = link;
			account(link, sizeof(*link), 'r', "Link");
		}
	}
}

static void make_containers()
{
	next_type = "plain";
	tree = new std::map<int, int>;
	next_type = "plain";
	table = new std::unordered_map<int, long>;
	for (int i = 0; i < 200; i++) {
		next_type = "std::map/set node";
		(*tree)[i] = i;
		next_type = "std::list node";
		list.push_back(i);
	}
	next_type = "std::unordered buckets";
	table->reserve(300);
	for (int i = 0; i < 200; i++) {
		next_type = "std::unordered node";
		(*table)[i] = i;
	}
}

static void add_text(const std::string &text)
{
	next_type = "std::string buffer";
	texts->push_back(text);
}

static void make_texts()
{
	next_type = "plain";
	texts = new std::vector<std::string>;
	next_type = "std::vector buffer";
	texts->reserve(8);
	next_type = "std::string buffer";
	std::string binary(200, '\0');
	for (size_t i = 0; i < binary.size(); i++)
		binary[i] = static_cast<char>(i * 37);
	account_freed(account_file.count - 1);
	add_text(binary);
	next_type = "std::string buffer";
	std::string text = "the quick brown fox jumps over the lazy dog";
	account_freed(account_file.count - 1);
	add_text(text);
	text = "na\xc3\xafve caf\xc3\xa9s of \xe6\x9d\xb1\xe4\xba\xac";
	add_text(text);
}

/* What is left on a stack: pointers to nodes and numbers that look like lengths. */
struct Garbage {
	uintptr_t words[3 * 60];
};

static void leave(volatile Garbage *garbage)
{
	size_t count = 0;
	auto put = [&](const void *node, uintptr_t room) {
		garbage->words[count++] = reinterpret_cast<uintptr_t>(node);
		garbage->words[count++] = 6;
		garbage->words[count++] = room;
	};
	for (int i = 0; i < 20; i++) {
		auto *pair = reinterpret_cast<char *>(&*tree->find(i * 9));
		put(pair - 32, 30);
	}
	for (auto at = list.begin(); count < 3 * 40; ++at, ++at)
		put(reinterpret_cast<char *>(&*at) - 16, 20);
	for (int i = 0; count < 3 * 60; i += 7)
		put(reinterpret_cast<char *>(&*table->find(i)) - 8, 20);
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	make_links();
	make_containers();
	make_texts();
	volatile Garbage garbage;
	leave(&garbage);
	/* Only the stack has this one. */
	next_type = "std::string buffer";
	std::string local = "a string that nothing but a stack holds";
	account_end();
	return local.empty() || garbage.words[0] == 1;
}
