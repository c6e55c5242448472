/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thread-local storage that is allocated when a thread first uses it; see library_blocks.c. */
int touch(void);

static __thread _Alignas(64) int storage[5000];

int touch(void)
{
	return storage[7]++;
}
