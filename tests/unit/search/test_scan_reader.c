/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can't be read is said where it was asked for, and nowhere else. */
#include "search/impl/scan_reader.h"

#include <string.h>

#include "lib/tap.h"

#define START 0x7f1200000000ull
#define PAGE 4096ull
#define PAGES 16u

/* Pages with and without memory. No read crosses `seam`, where another mapping begins. */
struct pages {
	bool is_there[PAGES];
	uint64_t seam;
	unsigned reads;
};

/* The word at an address is the address. */
static size_t read_pages(void *context, uint64_t address, void *ret, size_t bytes)
{
	struct pages *p = context;
	size_t got = 0;
	p->reads++;
	for (; got < bytes; got++) {
		uint64_t at = address + got, word = at & ~7ull;
		if (at < START || at >= START + PAGES * PAGE || !p->is_there[(at - START) / PAGE] ||
			(got && at == p->seam))
			break;
		memcpy((char *)ret + got, (char *)&word + at % 8, 1);
	}
	return got;
}

/* Reads [address, end), and returns how many of its words there were; all others are 0. */
static unsigned count_words(
	struct scan_reader *reader, uint64_t address, uint64_t end, uint64_t readable)
{
	struct scan_piece piece;
	unsigned ret = 0, all = 0;
	while (scan_next(reader, &address, end, readable, &piece)) {
		for (size_t i = 0; i + 8 <= piece.len; i += 8, all++) {
			uint64_t word;
			memcpy(&word, piece.bytes + i, 8);
			CHECK(!word || word == piece.address + i);
			ret += word != 0;
		}
	}
	CHECK(ret <= all);
	return ret;
}

CASE(between, "inaccessible pages between blocks are no loss, and the blocks are read whole")
{
	struct pages pages = {.is_there = {true, false, true, false, false, true}};
	const struct search_memory memory = {&pages, read_pages, NULL};
	struct scan_reader reader;
	CHECK(scan_open(&memory, 8, &reader));
	uint64_t readable = START + 6 * PAGE;
	CHECK_U64(count_words(&reader, START + PAGE - 48, START + PAGE, readable), 6);
	CHECK_U64(count_words(&reader, START + 2 * PAGE, START + 2 * PAGE + 16, readable), 2);
	CHECK_U64(count_words(&reader, START + 3 * PAGE - 32, START + 3 * PAGE - 3, readable), 3);
	CHECK_U64(count_words(&reader, START + 5 * PAGE + 8, START + 6 * PAGE, readable), 511);
	CHECK_U64(reader.unread_bytes, 0);
	CHECK_U64(pages.reads, 3); /* once where blocks lie together */
	scan_close(&reader);
}

CASE(lost, "bytes of blocks that can't be read are counted, those and no others")
{
	struct pages pages = {.is_there = {true, false, true, false}};
	const struct search_memory memory = {&pages, read_pages, NULL};
	struct scan_reader reader;
	CHECK(scan_open(&memory, 8, &reader));
	uint64_t readable = START + 4 * PAGE;
	/* A page in the middle. */
	CHECK_U64(count_words(&reader, START + PAGE - 64, START + 2 * PAGE + 64, readable), 16);
	CHECK_U64(reader.unread_bytes, PAGE);
	/* The end of one, and another one behind in the same page. */
	CHECK_U64(count_words(&reader, START + 3 * PAGE - 8, START + 3 * PAGE + 40, readable), 1);
	CHECK_U64(reader.unread_bytes, PAGE + 40);
	CHECK_U64(count_words(&reader, START + 3 * PAGE + 64, START + 3 * PAGE + 80, readable), 0);
	CHECK_U64(reader.unread_bytes, PAGE + 40 + 16);
	scan_close(&reader);
}

CASE(seam, "a read that ends where another mapping begins goes on there")
{
	struct pages pages = {.is_there = {true, true}, .seam = START + PAGE};
	const struct search_memory memory = {&pages, read_pages, NULL};
	struct scan_reader reader;
	CHECK(scan_open(&memory, 8, &reader));
	uint64_t end = START + 2 * PAGE;
	CHECK_U64(count_words(&reader, START, end, end), 2 * PAGE / 8);
	CHECK_U64(reader.unread_bytes, 0);
	scan_close(&reader);
}

TAP_MAIN
