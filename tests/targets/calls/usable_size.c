/* SPDX-License-Identifier: GPL-2.0-or-later */
/* malloc_usable_size answers as ever, and all it promises may be written. */
#include "truth.h"
#include <malloc.h>

TRUTH_SITE(site_used_whole)

int main(void)
{
	void *blocks[300];
	for (size_t i = 0; i < 300; i++) {
		size_t bytes = 9 + i * i;
		blocks[i] = site_used_whole(bytes);
		size_t usable = malloc_usable_size(blocks[i]);
		truth_need(usable >= bytes && usable < bytes + 8192, "malloc_usable_size");
		volatile unsigned char *byte = blocks[i];
		for (size_t at = 8; at < usable; at++)
			byte[at] = (unsigned char)(at ^ i);
	}
	truth_need(malloc_usable_size(NULL) == 0, "malloc_usable_size(NULL)");
	for (size_t i = 0; i < 300; i += 2) {
		size_t usable = malloc_usable_size(blocks[i]);
		volatile unsigned char *byte = blocks[i];
		for (size_t at = 8; at < usable; at++)
			truth_need(byte[at] == (unsigned char)(at ^ i), "content");
		truth_free(blocks[i]);
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
