/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of lz4's that are cut off: each byte that is there tells what it can. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/tap.h"
#include "process/cores/core_lz4.h"

/* "abcd", four bytes back for 19 + 3 bytes; five literals. */
static const uint8_t block[] = {0x4f, 'a', 'b', 'c', 'd', 4, 0, 3, 0x50, '1', '2', '3', '4', '5'};
static const char whole[] = "abcdabcdabcdabcdabcdabcdab12345";

CASE(prefixes, "what is unpacked of a cut block is how the whole begins")
{
	size_t before = 0;
	for (size_t len = 0; len <= sizeof(block); len++) {
		uint8_t out[64];
		size_t end = core_lz4_unpack(block, len, out, 0, sizeof(out));
		CHECK(end >= before && end <= strlen(whole) && !memcmp(out, whole, end));
		before = end;
	}
	CHECK(before == strlen(whole));
	uint8_t out[64];
	/* Only the literals; with the match, but not all of its length; and that as well. */
	CHECK(core_lz4_unpack(block, 6, out, 0, sizeof(out)) == 4);
	CHECK(core_lz4_unpack(block, 7, out, 0, sizeof(out)) == 4 + 15 + 4);
	CHECK(core_lz4_unpack(block, 8, out, 0, sizeof(out)) == 4 + 15 + 3 + 4);
}

CASE(bounds, "matches lead no further back than there is something, and write no further than "
	     "there is room")
{
	uint8_t out[16];
	CHECK(core_lz4_unpack(block, sizeof(block), out, 0, 10) == 10);
	CHECK(core_lz4_unpack(block, sizeof(block), out, 0, 3) == 3);
	const uint8_t far[] = {0x10, 'a', 2, 0, 0x10, 'b'};
	CHECK(core_lz4_unpack(far, sizeof(far), out, 0, sizeof(out)) == 1);
	memcpy(out, "xy", 2);
	CHECK(core_lz4_unpack(far, sizeof(far), out, 2, sizeof(out)) == 8);
	CHECK(!memcmp(out, "xyayayab", 8));
	const uint8_t none[] = {0x10, 'a', 0, 0, 0x10, 'b'};
	CHECK(core_lz4_unpack(none, sizeof(none), out, 0, sizeof(out)) == 1);
	const uint8_t endless[] = {0xf0, 255, 255, 255};
	CHECK(core_lz4_unpack(endless, sizeof(endless), out, 0, sizeof(out)) == 0);
}

static bool find(const void *bytes, size_t len, struct core_lz4_cut *ret)
{
	int fd = memfd_create("lz4", MFD_CLOEXEC);
	bool found =
		fd >= 0 && write(fd, bytes, len) == (ssize_t)len && core_lz4_find_cut(fd, len, ret);
	if (fd >= 0)
		close(fd);
	return found;
}

CASE(files, "the last block of a file that is cut off is found, and none in others")
{
	static const uint8_t file[] = {0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, /* header */
		2, 0, 0, 0x80, 'a', 'b', 3, 0, 0, 0, 0x10, 'c', 1, 0, 0, 0, 0};
	struct core_lz4_cut cut;
	CHECK(find(file, 19, &cut));
	CHECK(cut.offset == 17 && cut.len == 2 && cut.before == 1 && cut.block_most == 65536);
	CHECK(!cut.is_plain && cut.is_independent);
	CHECK(find(file, 12, &cut));
	CHECK(cut.offset == 11 && cut.len == 1 && cut.before == 0 && cut.is_plain);
	/* In a header, between blocks, whole; of another version. */
	for (size_t len = 0; len <= 11; len++)
		CHECK(!find(file, len, &cut));
	CHECK(!find(file, 13, &cut) && !find(file, 17, &cut) && !find(file, 20, &cut));
	CHECK(!find(file, sizeof(file), &cut));
	uint8_t other[sizeof(file)];
	memcpy(other, file, sizeof(file));
	other[4] = 0xa0;
	CHECK(!find(other, 19, &cut));
}

TAP_MAIN
