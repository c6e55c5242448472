/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watched_throws BYTES: says "ready"; with a line on stdin asks operator new ten times for BYTES,
 * more than there is, catches that, says "caught N"; with the next line ends.
 */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>

static void *volatile kept[5];

__attribute__((noinline)) static void keep_some(void)
{
	for (auto &block : kept)
		block = operator new(1234);
}

__attribute__((noinline)) static bool is_refused(std::size_t bytes)
{
	try {
		void *volatile block = operator new(bytes);
		operator delete(block);
		return false;
	} catch (const std::bad_alloc &) {
		return true;
	}
}

int main(int argc, char **argv)
{
	char line[64];
	int caught = 0;
	std::setvbuf(stdin, nullptr, _IONBF, 0);
	std::printf("ready %d\n", static_cast<int>(getpid()));
	std::fflush(stdout);
	if (argc < 2 || !std::fgets(line, sizeof(line), stdin))
		return 1;
	keep_some();
	for (int i = 0; i < 10; i++)
		caught += is_refused(std::strtoull(argv[1], nullptr, 10));
	std::printf("caught %d\n", caught);
	std::fflush(stdout);
	return std::fgets(line, sizeof(line), stdin) ? 0 : 1;
}
