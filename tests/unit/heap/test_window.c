/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that is gone through in order piece by piece, and from place to place by pages. */
#include <elf.h>
#include <string.h>

#include "heap/blocks/page_cache.h"
#include "heap/blocks/window.h"
#include "lib/core_builder.h"
#include "lib/tap.h"

#define START 0x560000000000ull
#define BYTES (5ull << 20)
#define HOLE 0x1000ull
#define AFTER (START + BYTES + HOLE)

/* Each word is its address; a hole lies before the last 64 KiB. */
struct memory {
	struct core_builder core;
	struct core_file file;
	struct address_space space;
};

static void memory_make(struct memory *memory)
{
	*memory = (struct memory){.core = {.count = 0}};
	core_builder_add(&memory->core, START, BYTES, PF_R | PF_W, NULL, 0);
	core_builder_add(&memory->core, AFTER, 0x10000, PF_R | PF_W, NULL, 0);
	for (uint64_t at = START; at < START + BYTES; at += 8)
		core_builder_word(&memory->core, at, at);
	for (uint64_t at = AFTER; at < AFTER + 0x10000; at += 8)
		core_builder_word(&memory->core, at, at);
	CHECK_OK(core_file_open_fd(core_builder_file(&memory->core), "core", &memory->file));
	CHECK_OK(address_space_of_core(&memory->file, NULL, &memory->space));
}

static void memory_free(struct memory *memory)
{
	address_space_close(&memory->space);
	core_file_close(&memory->file);
	core_builder_deinit(&memory->core);
}

/* Whether the piece is there, or is not, as it should, and begins and ends with its own words. */
static bool is_right(struct window *window, uint64_t address, size_t bytes)
{
	bool there = address >= START &&
		     (address + bytes <= START + BYTES ||
			     (address >= AFTER && address + bytes <= AFTER + 0x10000));
	const uint8_t *at = window_at(window, address, bytes, AFTER + 0x10000);
	uint64_t first = 0, last = 0;
	if (!at || !there)
		return !at && !there;
	memcpy(&first, at, 8);
	memcpy(&last, at + bytes - 8, 8);
	return first == address && last == address + bytes - 8 && (uintptr_t)at % 8 == 0;
}

/* Pieces of `bytes`, `step` bytes from each other; all of them must be right. */
static uint64_t wrong_of(struct window *window, size_t bytes, uint64_t step)
{
	uint64_t wrong = 0;
	for (uint64_t at = START; at < AFTER + 0x10000; at += step)
		wrong += !is_right(window, at, bytes);
	return wrong;
}

CASE(in_order, "pieces that follow each other, overlap, or leave some out are what memory has")
{
	static const struct {
		size_t bytes;
		uint64_t step;
	} ways[] = {{8, 8}, {48, 48}, {40, 72}, {4096, 4000}, {70000, 64}, {65536, 65528},
		{200000, 8192}, {8, 700000}, {1u << 20, 1u << 19}};
	struct memory memory;
	memory_make(&memory);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct window window;
		CHECK_OK(window_open(&memory.space, &window));
		CHECK_U64(wrong_of(&window, ways[i].bytes, ways[i].step), 0);
		window_close(&window);
	}
	memory_free(&memory);
}

CASE(back_and_forth, "a window that goes back is as good as a new one")
{
	struct memory memory;
	struct window window;
	memory_make(&memory);
	CHECK_OK(window_open(&memory.space, &window));
	uint64_t wrong = 0;
	for (uint64_t i = 0; i < 64; i++) {
		wrong += !is_right(&window, START + i * 65536, 1u << 19);
		wrong += !is_right(&window, START + (64 - i) * 65536 - 24, 96);
		wrong += !is_right(&window, START + i * 65536 + (1u << 20) - 48, 96);
	}
	CHECK_U64(wrong, 0);
	window_close(&window);
	memory_free(&memory);
}

CASE(jumping, "words of pages that are kept are memory's, and few reads are needed for them")
{
	struct memory memory;
	struct page_cache pages;
	memory_make(&memory);
	CHECK_OK(page_cache_open(&memory.space, &pages));
	uint64_t wrong = 0, word;
	for (uint64_t at = START + BYTES; at > START; at -= 8)
		wrong += !page_cache_word(&pages, at - 8, &word) || word != at - 8;
	CHECK_U64(wrong, 0);
	CHECK_U64(pages.reads, BYTES / 4096);
	/* Across two pages, across an end, and in a hole. */
	CHECK(page_cache_word(&pages, START + 4092, &word) &&
		word >> 32 == (START + 4096) % (1ull << 32));
	CHECK(!page_cache_word(&pages, START + BYTES - 4, &word));
	CHECK(!page_cache_word(&pages, START + BYTES + 8, &word));
	page_cache_close(&pages);
	memory_free(&memory);
}

TAP_MAIN
