/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that throws, so that libstdc++ is there with the memory that it keeps for exceptions;
 * and one of the program's own that is kept in the same way.
 */
#include <stdexcept>

#include "account.h"

ACCOUNT_DEFINE;

struct Piece {
	size_t size;
	Piece *next;
};
static struct {
	Piece *first;
	char *memory;
	size_t size;
} volatile pool;

int main(int argc, char **argv)
{
	setvbuf(stdout, nullptr, _IONBF, 0);
	account_open(argc, argv);
	char *memory = static_cast<char *>(calloc(1, 72704));
	account(memory, 72704, 'r', "own");
	pool.first = reinterpret_cast<Piece *>(memory);
	pool.first->size = 72704;
	pool.memory = memory;
	pool.size = 72704;
	try {
		throw std::runtime_error("thrown");
	} catch (const std::exception &) {
		account_end();
	}
	return 0;
}
