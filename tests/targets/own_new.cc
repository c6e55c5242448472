/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program's own operator new and delete stay in force: they are called, each time, and what they
 * ask malloc for is what is recorded, with them as the innermost frame.
 */
#include "truth.h"
#include <memory>
#include <new>
#include <vector>

static uint64_t allocations, bytes_asked, frees, live_bytes;

void *operator new(size_t bytes)
{
	uint64_t *block = static_cast<uint64_t *>(malloc(bytes + 16));
	truth_need(block != nullptr, "malloc");
	allocations++;
	bytes_asked += bytes + 16;
	live_bytes += bytes + 16;
	block[0] = bytes + 16;
	return block + 2;
}

void operator delete(void *block) noexcept
{
	if (!block)
		return;
	uint64_t *start = static_cast<uint64_t *>(block) - 2;
	frees++;
	live_bytes -= *start;
	free(start);
}

void operator delete(void *block, size_t) noexcept
{
	operator delete(block);
}

struct node {
	std::unique_ptr<node> next;
	char text[45];
};

int main()
{
	{
		std::vector<std::unique_ptr<node>> nodes;
		for (int i = 0; i < 500; i++)
			nodes.push_back(std::make_unique<node>());
		static std::vector<int> kept(1001);
		for (int i = 0; i < 100; i++)
			nodes.pop_back();
		static node *leaked[30];
		for (int i = 0; i < 30; i++)
			leaked[i] = new node();
		truth_need(leaked[29] != leaked[0], "two nodes");
		int *volatile numbers = new int[77];
		delete[] numbers;
	}
	truth_need(allocations > 530 && frees > 500, "own operators were called");
	truth_say("# expect: function allocations=%lu allocated_bytes=%lu live_blocks=%lu "
		  "live_bytes=%lu name=operator new(unsigned long)",
		(unsigned long)allocations, (unsigned long)bytes_asked,
		(unsigned long)(allocations - frees), (unsigned long)live_bytes);
	truth_end(TRUTH_PLAIN);
	_exit(0);
}
