/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program with operators new and delete of its own, which allocators' libraries that are loaded
 * with it call too, also later: tcmalloc's debugging one makes its list of freed blocks at the
 * first free(). One block is lost, the program's; what the library has got for itself never is.
 */
#include <cstdio>
#include <cstdlib>
#include <new>

void *operator new(std::size_t size)
{
	void *block = std::malloc(size);
	if (!block)
		throw std::bad_alloc();
	return block;
}

void operator delete(void *block) noexcept
{
	std::free(block);
}

void operator delete(void *block, std::size_t) noexcept
{
	std::free(block);
}

static int *volatile kept;
static void *volatile passing;

static __attribute__((noinline)) void lose()
{
	passing = std::malloc(40);
	passing = nullptr;
}

int main()
{
	kept = new int(5);
	lose();
	passing = std::malloc(99);
	std::free(passing);
	passing = nullptr;
	std::printf("# expect: definite=1 bytes=40\n");
	return 0;
}
