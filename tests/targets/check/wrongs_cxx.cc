/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors of C++ programs: operators new and delete. See wrongs.h. */
#include "wrongs.h"

#include <new>
#include <string>
#include <vector>

struct alignas(64) Wide {
	char bytes[64];
};

static void mismatches(bool good)
{
	if (good) {
		free(hide(malloc(5)));
		::operator delete(hide(::operator new(6)));
		::operator delete[](hide(::operator new[](7)));
		return;
	}
	expect("MismatchedFree", 0, "inside", 5);
	::operator delete(hide(malloc(5)));
	expect("MismatchedFree", 0, "inside", 6);
	free(hide(::operator new(6)));
	expect("MismatchedFree", 0, "inside", 7);
	::operator delete(hide(::operator new[](7)));
	expect("MismatchedFree", 0, "inside", 8);
	::operator delete[](hide(::operator new(8)));
	expect("MismatchedFree", 0, "inside", 9);
	::operator delete[](hide(malloc(9)));
	expect("MismatchedFree", 0, "inside", 10);
	free(hide(::operator new[](10)));
	expect("MismatchedFree", 0, "inside", 11);
	free(realloc(hide(::operator new(11)), 20));
}

static void sizes(bool good)
{
	::operator delete(hide(::operator new(12)), size_t(12));
	::operator delete[](hide(::operator new[](12)), size_t(12));
	if (good)
		return;
	expect("MismatchedAllocateDeallocateSize", 0, "inside", 13);
	::operator delete(hide(::operator new(13)), size_t(12));
	expect("MismatchedAllocateDeallocateSize", 0, "inside", 14);
	::operator delete[](hide(::operator new[](14)), size_t(15));
}

static void alignments(bool good)
{
	delete static_cast<Wide *>(hide(new Wide));
	delete[] static_cast<Wide *>(hide(new Wide[3]));
	auto two = std::align_val_t(32), other = std::align_val_t(64);
	::operator delete(hide(::operator new(12, two)), two);
	::operator delete(hide(::operator new(12, two, std::nothrow)), 12, two);
	if (good)
		return;
	expect("MismatchedAllocateDeallocateAlignment", 0, "inside", 13);
	::operator delete(hide(::operator new(13, two)), other);
	expect("MismatchedAllocateDeallocateAlignment", 0, "inside", 14);
	::operator delete(hide(::operator new(14, two)));
	expect("MismatchedAllocateDeallocateAlignment", 0, "inside", 15);
	::operator delete[](hide(::operator new[](15)), two);
}

static void containers(bool good)
{
	std::vector<int> v(10, 1);
	const int *first = static_cast<const int *>(hide(&v[0]));
	if (!good) {
		expect("InvalidRead", 8, "after", 40);
		(void)*(const volatile int *)(first + 12);
	}
	v.resize(1000);
	if (!good)
		expect_freed("InvalidRead", 4, 40);
	(void)*(const volatile int *)((good ? &v[0] : first) + 1);
	std::string s(100, 'x');
	printf("%zu\n", s.size() + v.size());
}

static int asked;

static void ask_thrice()
{
	if (++asked == 3)
		throw std::bad_alloc();
}

static void out_of_memory(bool)
{
	const size_t much = size_t(1) << 46;
	try {
		::operator delete(hide(::operator new(much)));
	} catch (const std::bad_alloc &) {
		puts("bad_alloc");
	}
	printf("%d\n", ::operator new(much, std::nothrow) == nullptr);
	std::set_new_handler(ask_thrice);
	try {
		::operator delete(hide(::operator new[](much)));
	} catch (const std::bad_alloc &) {
		printf("bad_alloc after %d\n", asked);
	}
	asked = 0;
	printf("%d", ::operator new(much, std::nothrow) == nullptr);
	printf(" after %d\n", asked);
}

static const struct story stories[] = {{"mismatches", mismatches}, {"sizes", sizes},
	{"alignments", alignments}, {"containers", containers}, {"out_of_memory", out_of_memory},
	{nullptr, nullptr}};

int main(int argc, char **argv)
{
	return tell_story(argc, argv, stories);
}
