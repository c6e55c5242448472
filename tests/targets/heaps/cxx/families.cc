/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Containers of very many nodes, and containers in what containers of the same type have. The
 * account has a row for each type: how many blocks there are of it, in place of a size. */
#include <list>
#include <map>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

namespace
{

struct B {
	long number;
	std::map<int, B> below;
	std::list<B> beside;
};

std::map<long, std::vector<long>> numbers;
B root;

const long many = 300007;
size_t in_trees, in_lists;

/* Large ones first: they are of one type at once, small ones node by node. */
void grow(B &at, int wide, int depth)
{
	for (int i = 0; depth && i < wide; i++) {
		B &below = at.below[i];
		below.number = i;
		grow(below, i % 2 ? 3 : wide / 2, depth - 1);
		at.beside.emplace_back();
		grow(at.beside.back(), i % 2 ? wide / 2 : 2, depth - 1);
		in_trees++;
		in_lists++;
	}
}

} // namespace

int main(int argc, char **argv)
{
	setvbuf(stdout, nullptr, _IONBF, 0);
	account_open(argc, argv);
	for (long i = 0; i < many; i++)
		numbers[i].assign(3, i);
	grow(root, 140, 3);
	const char *rows[] = {"std::vector buffer of long int",
		"std::map/set node of std::pair<int const, B>", "std::list node of B"};
	size_t counts[] = {static_cast<size_t>(many), in_trees, in_lists};
	for (uintptr_t i = 0; i < 3; i++)
		account(reinterpret_cast<void *>(i + 1), counts[i], 'r', rows[i]);
	account_end();
	return 0;
}
