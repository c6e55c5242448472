/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_scattered ENTRIES: containers of C++ as programs have them that ran for long. Strings and
 * vectors of random sizes, allocated in random order; maps of maps; lists that were sorted, so that
 * neighbours are far apart; objects of several layers of bases; what was freed in between. About 11
 * blocks an entry. Says its process number, and ends when a line comes.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <unistd.h>

namespace
{

std::uint64_t state = 88172645463325252ull;

std::uint64_t any(std::uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

std::string text(std::size_t most)
{
	std::string made(any(most), static_cast<char>('a' + any(26)));
	return made;
}

struct Base {
	virtual ~Base() = default;
	std::string name = text(40);
};
struct Named {
	virtual ~Named() = default;
	std::vector<int> ids = std::vector<int>(any(12));
};
struct Middle : Base {
	std::shared_ptr<std::string> note = std::make_shared<std::string>(text(60));
};
struct Leaf : Middle, Named {
	std::unique_ptr<std::vector<std::string>> lines =
		std::make_unique<std::vector<std::string>>(
			any(3), "a line that is too long for a string itself");
	Leaf *peer = nullptr;
};
struct Other : Middle {
	std::set<int> numbers = {1, 2};
};

std::map<std::string, std::map<int, std::string>> tables;
std::unordered_map<std::uint64_t, std::vector<std::string>> index_of;
std::list<std::shared_ptr<Base>> objects;
std::vector<std::unique_ptr<Base>> owned;
std::deque<std::string> lines;
std::list<int> sorted;

Leaf *last;

void add(std::uint64_t number)
{
	switch (any(6)) {
	case 0:
		tables[text(30) + std::to_string(any(20000))][static_cast<int>(any(1000))] =
			text(90);
		break;
	case 1:
		for (std::uint64_t i = any(4); i < 4; i++)
			index_of[any(1u << 30)].push_back(text(70));
		break;
	case 2: {
		auto leaf = std::make_shared<Leaf>();
		leaf->peer = last;
		last = leaf.get();
		objects.push_back(leaf);
		break;
	}
	case 3:
		owned.push_back(std::make_unique<Other>());
		break;
	case 4:
		lines.push_back(text(120));
		if (any(5) == 0)
			lines.pop_front();
		break;
	default:
		for (int i = 0; i < 8; i++)
			sorted.push_back(static_cast<int>(any(1u << 30)));
	}
	if (number % 8 == 0 && !index_of.empty())
		index_of.erase(index_of.begin());
}

} // namespace

int main(int count, char **arguments)
{
	std::uint64_t entries = count == 2 ? std::strtoull(arguments[1], nullptr, 10) : 0;
	for (std::uint64_t i = 0; i < entries; i++)
		add(i);
	sorted.sort();
	objects.sort([](const auto &a, const auto &b) { return a->name < b->name; });
	std::printf("%d\n", static_cast<int>(getpid()));
	std::fflush(stdout);
	return std::getchar() != '\n';
}
