/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packed cores that are cut off in a block of lz4's: the file, and the block as it may follow
 * others. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/cores/core_lz4.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM_MOST (256u << 10)

static void need(bool condition)
{
	if (!condition)
		abort();
}

/* Behind some that came before, into memory that ends where it is said to end. */
static void unpack(const uint8_t *block, size_t len, size_t known, size_t room)
{
	uint8_t *in = malloc(len + 1), *out = calloc(1, known + room + 1);
	need(in && out);
	memcpy(in, block, len);
	size_t end = core_lz4_unpack(in, len, out, known, known + room);
	need(end >= known && end <= known + room);
	free(in);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct core_lz4_cut cut;
	int fd = memfd_create("lz4", MFD_CLOEXEC);
	need(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (core_lz4_find_cut(fd, size, &cut)) {
		need(cut.len && cut.offset + cut.len == size && cut.len <= cut.block_most);
		size_t room = cut.block_most < ROOM_MOST ? cut.block_most : ROOM_MOST;
		unpack(data + cut.offset, cut.len, 0, room);
		unpack(data + cut.offset, cut.len, CORE_LZ4_WINDOW, room);
	}
	close(fd);
	unpack(data, size, size % 7, ROOM_MOST);
	return 0;
}
