/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of a process, hand-written, malformed and our own; and memory read through them. */
#include <sys/mman.h>

#include "base/ranges.h"
#include "process/fork_exclusions.h"
#include "process/maps.h"
#include "process/memory.h"

#include "lib/tap.h"

static void parse(const char *text, struct process_maps *ret)
{
	char *copy = strdup(text);
	CHECK(copy);
	CHECK_OK(process_maps_parse(copy, ret));
}

CASE(fields, "each field of a line is read, and paths with blanks")
{
	struct process_maps maps;
	parse("00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/d bus (deleted)\n"
	      "7f0000000000-7f0000021000 rw-s 00000000 00:01 5\n"
	      "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0    [stack]\n",
		&maps);
	CHECK_U64(maps.maps.len, 3);
	const struct process_map *one = &maps.maps.data[0], *two = one + 1, *three = one + 2;
	CHECK(one->start == 0x400000 && one->end == 0x452000 && one->offset == 0x1000);
	CHECK(one->readable && !one->writable && one->executable && !one->shared);
	CHECK(one->inode == 173521 && one->device_major == 8);
	CHECK_STR(one->path, "/usr/bin/d bus (deleted)");
	CHECK(two->shared && two->writable && !two->executable && two->inode == 5);
	CHECK_STR(two->path, "");
	CHECK_STR(three->path, "[stack]");
	process_maps_deinit(&maps);
}

CASE(malformed, "lines that make no sense are left out, and nothing is read beyond them")
{
	static const char *const lines[] = {"", "\n\n\n", "x", "-", "1000", "1000-", "1000-2000",
		"1000-2000 r", "1000-2000 rwxp", "1000-2000 rwxp 0", "1000-2000 rwxp 0 1",
		"1000-2000 rwxp 0 1:", "1000-2000 rwxp 0 1:2", "2000-1000 rwxp 0 1:2 3",
		"1000-1000 rwxp 0 1:2 3", "1000-2000 rwx 0 1:2 3", "zzzz-2000 rwxp 0 1:2 3",
		"1000-2000 rwxp zz 1:2 3", "-1-2000 rwxpp 0 1:2 3", "1000 2000 rwxp 0 1:2 3"};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct process_maps maps;
		parse(lines[i], &maps);
		CHECK_U64(maps.maps.len, 0);
		process_maps_deinit(&maps);
	}
	struct process_maps maps;
	parse("nonsense\n1000-2000 rw-p 0 00:00 0\n\n3000-4000 rw-p 0 00:00 0", &maps);
	CHECK_U64(maps.maps.len, 2);
	CHECK_STR(maps.maps.data[1].path, "");
	process_maps_deinit(&maps);
}

CASE(order, "mappings that overlap or go back are left out, so that each address has one")
{
	struct process_maps maps;
	parse("3000-5000 rw-p 0 00:00 0 a\n1000-2000 rw-p 0 00:00 0 b\n4000-6000 rw-p 0 00:00 0 c\n"
	      "5000-6000 rw-p 0 00:00 0 d\n8000-ffffffffffffffff rw-p 0 00:00 0 e\n",
		&maps);
	CHECK_U64(maps.maps.len, 3);
	static const struct {
		uint64_t address;
		const char *path;
	} found[] = {{0, NULL}, {0x2fff, NULL}, {0x3000, "a"}, {0x4fff, "a"}, {0x5000, "d"},
		{0x5fff, "d"}, {0x6000, NULL}, {0x8000, "e"}, {UINT64_MAX - 1, "e"},
		{UINT64_MAX, NULL}};
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		const struct process_map *map = process_maps_find(&maps, found[i].address);
		CHECK_STR(map ? map->path : NULL, found[i].path);
	}
	process_maps_deinit(&maps);
}

CASE(random_bytes, "any text at all is taken without harm")
{
	static const char letters[] = "0123456789abcdef-- :rwxps\n\n[]/";
	uint64_t random = 88172645463325252ull;
	for (unsigned round = 0; round < 2000; round++) {
		char text[200];
		for (size_t i = 0; i < sizeof(text) - 1; i++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			text[i] = letters[random % (sizeof(letters) - 1)];
		}
		text[sizeof(text) - 1] = 0;
		struct process_maps maps;
		parse(text, &maps);
		for (size_t i = 1; i < maps.maps.len; i++)
			CHECK(maps.maps.data[i - 1].end <= maps.maps.data[i].start);
		process_maps_deinit(&maps);
	}
}

CASE(gone, "a process that is not there is an error")
{
	struct process_maps maps;
	struct process_memory memory;
	CHECK_ERROR(process_maps_read(0x3fffffff, &maps), ERROR_INPUT, "");
	struct error *error = process_memory_open(0x3fffffff, 0x3fffffff, NULL, &memory);
	CHECK(error);
	error_destroy(error);
}

static char *map(size_t bytes, int flags, int fd)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	CHECK(at != MAP_FAILED);
	return at;
}

CASE(untouched, "pages that nobody touched are told, and shared ones not made by reading")
{
	enum { PAGES = 1024, BYTES = PAGES * 4096 };
	int fd = memfd_create("untouched", MFD_CLOEXEC);
	CHECK(fd >= 0 && !ftruncate(fd, BYTES));
	char *own = map(BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1),
	     *shared = map(BYTES, MAP_SHARED, fd);
	madvise(own, BYTES, MADV_NOHUGEPAGE);
	own[600 * 4096 + 5] = shared[700 * 4096 + 5] = 'x';
	struct process_maps maps;
	struct process_memory memory;
	CHECK_OK(process_maps_read(getpid(), &maps));
	CHECK_OK(process_memory_open(getpid(), getpid(), &maps, &memory));
	CHECK_U64(process_memory_untouched(&memory, (uint64_t)own, BYTES), 600 * 4096);
	CHECK_U64(process_memory_untouched(&memory, (uint64_t)shared, BYTES), 700 * 4096);
	CHECK_U64(process_memory_untouched(&memory, (uint64_t)own + 600 * 4096, 4096), 0);
	CHECK_U64(process_memory_untouched(&memory, (uint64_t)own + 8, 100), 100);
	char *copy = malloc(BYTES + 4096);
	CHECK(copy);
	CHECK_U64(process_memory_read(&memory, (uint64_t)shared + 3, copy, BYTES - 3), BYTES - 3);
	for (size_t i = 0; i < BYTES - 3; i++)
		CHECK(copy[i] == (i + 3 == 700 * 4096 + 5 ? 'x' : 0));
	CHECK_U64((uint64_t)lseek(fd, 0, SEEK_DATA), 700 * 4096);
	CHECK_U64((uint64_t)lseek(fd, 701 * 4096, SEEK_DATA), UINT64_MAX);
	CHECK_U64(process_memory_read(&memory, (uint64_t)own + 600 * 4096, copy, 4096), 4096);
	CHECK(copy[5] == 'x');
	free(copy);
	process_memory_close(&memory);
	process_maps_deinit(&maps);
}

/* Whether a page of ours is in memory. */
static bool is_resident(const void *page)
{
	unsigned char flags = 0;
	CHECK(!mincore((void *)(uintptr_t)page, 4096, &flags));
	return flags & 1;
}

CASE(gently, "reading gently brings no page in, and ends at its bound")
{
	enum { PAGES = 1024, BYTES = PAGES * 4096 };
	char *own = map(BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1), *copy = malloc(BYTES);
	CHECK(copy);
	madvise(own, BYTES, MADV_NOHUGEPAGE);
	own[600 * 4096 + 5] = 'x';
	memset(copy, 'y', BYTES);
	struct process_maps maps;
	struct process_memory memory;
	struct process_memory_gently gently = {.reads_left = 100};
	CHECK_OK(process_maps_read(getpid(), &maps));
	CHECK_OK(process_memory_open(getpid(), getpid(), &maps, &memory));
	memory.gently = &gently;
	CHECK_U64(process_memory_read(&memory, (uint64_t)own + 3, copy, BYTES - 3), BYTES - 3);
	for (size_t i = 0; i < BYTES - 3; i++)
		CHECK(copy[i] == (i + 3 == 600 * 4096 + 5 ? 'x' : 0));
	CHECK(is_resident(own + 600 * 4096) && !is_resident(own + 599 * 4096));
	CHECK(!gently.ended && gently.reads_left < 100);
	CHECK_U64(process_memory_read(&memory, 4096, copy, 8), 0);
	gently.reads_left = 1;
	CHECK(process_memory_read(&memory, (uint64_t)own, copy, BYTES) < BYTES);
	CHECK(gently.ended);
	CHECK_U64(process_memory_read(&memory, (uint64_t)own + 600 * 4096, copy, 8), 0);
	free(copy);
	munmap(own, BYTES);
	process_memory_close(&memory);
	process_maps_deinit(&maps);
}

static bool none_known(const void *context, uint64_t start, uint64_t end, const char *path)
{
	(void)start, (void)end, (void)path;
	return *(const bool *)context;
}

CASE(unforked, "pages that fork leaves out are found, unless they are known")
{
	bool known = false;
	const struct fork_exclusions_known calls = {none_known, &known};
	CHECK(!process_has_fork_exclusions(getpid(), &calls));
	char *page = map(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	*page = 'x';
	static const int advices[][2] = {
		{MADV_DONTFORK, MADV_DOFORK}, {MADV_WIPEONFORK, MADV_KEEPONFORK}};
	for (unsigned i = 0; i < 2; i++) {
		CHECK(!madvise(page, 4096, advices[i][0]));
		CHECK(process_has_fork_exclusions(getpid(), &calls));
		known = true;
		CHECK(!process_has_fork_exclusions(getpid(), &calls));
		known = false;
		CHECK(!madvise(page, 4096, advices[i][1]));
		CHECK(!process_has_fork_exclusions(getpid(), &calls));
	}
	CHECK(process_has_fork_exclusions(0x3fffffff, &calls));
	munmap(page, 4096);
}

CASE(wiped, "pages that fork wipes count once they hold something")
{
	bool known = false;
	const struct fork_exclusions_known calls = {none_known, &known};
	char *pages = map(8 * 4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	CHECK(!madvise(pages, 8 * 4096, MADV_WIPEONFORK));
	CHECK(!process_has_fork_exclusions(getpid(), &calls));
	CHECK(*(volatile char *)(pages + 4096) == 0); /* the kernel's page of zeros */
	CHECK(!process_has_fork_exclusions(getpid(), &calls));
	pages[5 * 4096] = 'x';
	CHECK(process_has_fork_exclusions(getpid(), &calls));
	CHECK(!madvise(pages, 8 * 4096, MADV_DONTNEED));
	CHECK(!process_has_fork_exclusions(getpid(), &calls));
	/* What is left out is no memory at all in a copy, not zeros. */
	CHECK(!madvise(pages, 8 * 4096, MADV_DONTFORK));
	CHECK(process_has_fork_exclusions(getpid(), &calls));
	munmap(pages, 8 * 4096);
}

CASE(ranges, "sets of ranges are joined, and the range of an address is found")
{
	struct address_ranges ranges = {NULL, 0, 0};
	static const uint64_t added[][2] = {
		{50, 60}, {10, 20}, {20, 30}, {12, 15}, {55, 70}, {40, 40}, {9, 3}, {90, 91}};
	address_ranges_join(&ranges);
	CHECK(!address_ranges_from(&ranges, 0) && !address_ranges_has(&ranges, 0));
	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++)
		CHECK(address_ranges_add(&ranges, added[i][0], added[i][1]));
	address_ranges_join(&ranges);
	static const struct address_range expected[] = {{10, 30}, {50, 70}, {90, 91}};
	CHECK_U64(ranges.len, 3);
	CHECK_MEM(ranges.data, expected, sizeof(expected));
	for (uint64_t address = 0; address < 100; address++) {
		bool in = false;
		for (unsigned i = 0; i < 3; i++)
			in |= address >= expected[i].start && address < expected[i].end;
		CHECK(address_ranges_has(&ranges, address) == in);
		const struct address_range *from = address_ranges_from(&ranges, address);
		unsigned first = address < 30 ? 0 : address < 70 ? 1 : 2;
		CHECK(address < 91 ? from == &ranges.data[first] : !from);
	}
	address_ranges_deinit(&ranges);
}

TAP_MAIN
