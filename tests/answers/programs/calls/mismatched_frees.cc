/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives back 3 blocks of new[] by free, 2 of malloc by delete, and as many of each kind rightly. */
#include <cstdlib>

__attribute__((noinline)) static int *make_array()
{
	return new int[10];
}

__attribute__((noinline)) static void free_array(int *array)
{
	free(array);
}

__attribute__((noinline)) static int *make_plain()
{
	return static_cast<int *>(malloc(sizeof(int)));
}

__attribute__((noinline)) static void delete_plain(int *plain)
{
	delete plain;
}

int main()
{
	for (int i = 0; i < 3; i++) {
		free_array(make_array());
		delete[] make_array();
	}
	for (int i = 0; i < 2; i++) {
		delete_plain(make_plain());
		free(make_plain());
	}
	return 0;
}
