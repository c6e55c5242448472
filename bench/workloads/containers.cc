/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * containers THREADS ITERATIONS [NODES]: each thread builds and destroys a std::list of NODES nodes
 * (a million unless given), then a smaller mix of map, unordered_map, string and vector, ITERATIONS
 * times. Deterministic: the sum of the threads' checksums is printed.
 *
 * The list is the shape that costs an exact recorder most: nothing but allocation, one stack, and
 * all nodes live at once. The mix adds different stacks, sizes and lifetimes. The threads share
 * nothing: what slows four of them down together is the recorder or the allocator.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace
{

struct dice {
	uint64_t state;

	uint32_t roll(uint32_t sides)
	{
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		return static_cast<uint32_t>(state >> 33) % sides;
	}
};

uint64_t build_list(dice &dice, size_t nodes)
{
	std::list<uint64_t> list;
	for (size_t i = 0; i < nodes; i++) {
		if (dice.roll(2))
			list.push_back(i);
		else
			list.push_front(i);
	}
	return list.front() * 31 + list.back();
}

std::string make_word(dice &dice)
{
	std::string word;
	for (uint32_t length = 4 + dice.roll(40); length; length--)
		word += static_cast<char>('a' + dice.roll(26));
	return word;
}

uint64_t count_words(dice &dice, size_t words)
{
	std::unordered_map<std::string, unsigned> seen;
	std::map<size_t, std::vector<std::string>> by_length;
	for (size_t i = 0; i < words; i++) {
		std::string word = make_word(dice);
		if (++seen[word.substr(0, 3)] == 1)
			by_length[word.size()].push_back(word);
	}
	uint64_t sum = seen.size();
	for (const auto &[length, list] : by_length)
		sum = sum * 31 + length * list.size();
	return sum;
}

uint64_t churn_map(dice &dice, size_t steps)
{
	std::map<uint32_t, std::string> map;
	for (size_t i = 0; i < steps; i++) {
		uint32_t key = dice.roll(5000);
		if (dice.roll(3))
			map[key] = std::string(dice.roll(64), 'x');
		else
			map.erase(key);
	}
	uint64_t sum = 0;
	for (const auto &[key, value] : map)
		sum = sum * 31 + key + value.size();
	return sum;
}

void work(unsigned seed, unsigned iterations, size_t nodes, uint64_t &ret_sum)
{
	dice dice{seed};
	uint64_t sum = 0;
	for (unsigned i = 0; i < iterations; i++) {
		sum += build_list(dice, nodes);
		sum += count_words(dice, nodes / 10);
		sum += churn_map(dice, nodes / 10);
	}
	ret_sum = sum;
}

} // namespace

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? static_cast<unsigned>(atoi(argv[1])) : 0;
	unsigned iterations = argc > 2 ? static_cast<unsigned>(atoi(argv[2])) : 0;
	size_t nodes = argc > 3 ? strtoul(argv[3], nullptr, 10) : 1000000;
	if (!threads || !iterations || !nodes) {
		fputs("usage: containers THREADS ITERATIONS [NODES]\n", stderr);
		return 2;
	}
	std::vector<uint64_t> sums(threads);
	std::vector<std::thread> running;
	for (unsigned i = 0; i < threads; i++)
		running.emplace_back(work, i + 1, iterations, nodes, std::ref(sums[i]));
	uint64_t total = 0;
	for (unsigned i = 0; i < threads; i++) {
		running[i].join();
		total += sums[i];
	}
	printf("%u threads, %u iterations, checksum %016llx\n", threads, iterations,
		static_cast<unsigned long long>(total));
	return 0;
}
