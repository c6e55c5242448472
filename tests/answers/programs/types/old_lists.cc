// SPDX-License-Identifier: GPL-2.0-or-later
// Lists as libstdc++ had them before C++11, and blocks that look like their nodes.
#define _GLIBCXX_USE_CXX11_ABI 0
#include <cstdio>
#include <forward_list>
#include <list>
#include <string>
#include <unistd.h>

static std::list<int> *numbers;
static std::list<std::string> texts;
static std::forward_list<std::string> others;

int main()
{
	numbers = new std::list<int>;
	for (int i = 0; i < 10; i++) {
		numbers->push_back(i);
		texts.push_back("a text of a list");
		others.push_front("a text of another");
	}
	printf("ready\n");
	fflush(stdout);
	pause();
}
