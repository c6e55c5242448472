// SPDX-License-Identifier: GPL-2.0-or-later
/* libstdc++'s part of library_blocks.c: its pool for exceptions, and one that is thrown. */
#include <stdexcept>

int main(int argc, char **)
{
	try {
		if (argc)
			throw std::runtime_error("x");
	} catch (const std::exception &) {
	}
	return 0;
}
