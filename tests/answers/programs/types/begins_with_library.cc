// SPDX-License-Identifier: GPL-2.0-or-later
// Structures that begin with an object of a class that only a library describes.
#include <cstdio>
#include <fstream>
#include <memory_resource>
#include <string>
#include <unistd.h>
#include <vector>

struct Log {
	std::ofstream file;
	std::vector<int> lines;
};

struct Arena {
	struct {
		std::pmr::monotonic_buffer_resource memory[2];
	} own;
	std::string *name;
};

static Log *logs[4];
static Arena *arena;
/* By themselves. */
static std::pmr::memory_resource *plain;

int main()
{
	for (Log *&log : logs) {
		log = new Log;
		log->lines.resize(100);
	}
	arena = new Arena;
	arena->name = new std::string("what an arena is called, at length");
	plain = new std::pmr::monotonic_buffer_resource;
	printf("ready\n");
	fflush(stdout);
	pause();
}
