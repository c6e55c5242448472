/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nothing of its own is allocated: libstdc++ keeps a reserve for exceptions, libc a buffer. */
#include <iostream>

int main()
{
	std::cout << "hello\n";
}
