/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors in what C++ programs give to functions of libc, by the library's algorithms. See calls.c.
 */
#include "wrongs.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

static void expect_by(
	const char *kind, size_t offset, const char *where, size_t size, const char *by)
{
	printf("expect %s %zu %s %zu by %s\n", kind, offset, where, size, by);
	fflush(stdout);
}

static long count_of(size_t n)
{
	__asm__ volatile("" : "+r"(n));
	return static_cast<long>(n);
}

static void copied(bool good)
{
	std::vector<int> from(40, 7);
	auto *to = static_cast<int *>(hide(new int[13]));
	if (!good)
		expect_by("InvalidWrite", 0, "after", 52, "memmove");
	std::copy(from.begin(), from.begin() + count_of(good ? 13 : 15), to);
	printf("%d\n", to[12]);
	delete[] to;
	auto *bytes = static_cast<char *>(hide(new char[13]));
	if (!good)
		expect_by("InvalidWrite", 0, "after", 13, "memset");
	std::fill_n(bytes, count_of(good ? 13 : 15), 'x');
	printf("%c\n", bytes[12]);
	delete[] bytes;
}

static void strings(bool good)
{
	auto *bytes = static_cast<char *>(hide(new char[13]));
	std::fill_n(bytes, count_of(13), 'x');
	if (good)
		bytes[12] = 0;
	else
		expect_by("InvalidRead", 0, "after", 13, "strlen");
	volatile size_t length = std::string_view(bytes).size();
	if (good)
		printf("%zu\n", size_t(length));
	std::string longer(500, 'a');
	longer.insert(3, std::string(700, 'b')).erase(5, 20);
	printf("%zu %d\n", longer.size(), longer.find("ba") != std::string::npos);
	delete[] bytes;
}

int main(int argc, char **argv)
{
	static const struct story stories[] = {
		{"copied", copied}, {"strings", strings}, {NULL, NULL}};
	return tell_story(argc, argv, stories);
}
