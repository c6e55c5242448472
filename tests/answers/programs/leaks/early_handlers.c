/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hundred exit handlers are registered before the loader's own, as constructors of libraries do.
 * Libc keeps them in blocks, and frees these after everything else, or never with an argument: then
 * the program ends by _exit. # expect: lost=0 held=0
 */
#include <stdlib.h>
#include <unistd.h>

static int called;

static void handler(void)
{
	called++;
}

static void register_all(void)
{
	for (int i = 0; i < 100; i++)
		atexit(handler);
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = register_all;

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		_exit(0);
	return 0;
}
