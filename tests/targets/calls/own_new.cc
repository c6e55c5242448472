/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program's own operator new and delete stay in force: they are called, each time, and what they
 * ask malloc for is what is recorded.
 */
#include "truth.h"
#include <memory>
#include <new>
#include <vector>

TRUTH_SITE(site_under_new)

enum { OWN = 16 }; /* bytes in front of each block, for the site's tag */

static unsigned news, deletes;

void *operator new(size_t bytes)
{
	news++;
	void *block = site_under_new(bytes + OWN);
	truth_need(block != nullptr, "malloc");
	return static_cast<char *>(block) + OWN;
}

void operator delete(void *block) noexcept
{
	if (!block)
		return;
	deletes++;
	truth_free(static_cast<char *>(block) - OWN);
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
	truth_need(news > 530 && deletes > 500, "own operators were called");
	truth_say("# expect: kind site=site_under_new kind=malloc");
	truth_say("# expect: path site=site_under_new chain=site_under_new<main");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	_exit(0);
}
