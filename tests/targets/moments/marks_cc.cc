// SPDX-License-Identifier: GPL-2.0-or-later
// marks_cc: C++ code at a fixed address sets marks in two threads that know nothing of one another,
// thousands of them, of all lengths that a name can have; and waits for a line on its standard
// input between two.
#include <heapwise/client.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

static void mark_often(char letter, int count)
{
	std::vector<std::unique_ptr<int[]>> blocks;
	for (int i = 0; i < count; i++) {
		blocks.push_back(std::make_unique<int[]>(static_cast<unsigned>(i) % 100 + 1));
		heapwise_mark(std::string(static_cast<unsigned>(i) % 255 + 1, letter).c_str());
	}
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? std::stoi(argv[1]) : 2550;
	std::thread a(mark_often, 'a', count), b(mark_often, 'b', count);
	a.join();
	b.join();
	std::string held(1000, 'h');
	std::printf("# %s\n", argv[0]);
	std::fflush(stdout);
	std::getchar();
	heapwise_mark("end of main");
	return 0;
}
