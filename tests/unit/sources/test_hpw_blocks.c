/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "base/hash.h"
#include "lib/tap.h"
#include "sources/events/hpw_blocks.h"

#define KEYS 3000u

CASE(random, "adds and takes in random order agree with an array")
{
	struct hpw_blocks blocks;
	hpw_blocks_init(&blocks);
	static bool there[KEYS];
	size_t len = 0;
	for (uint64_t i = 0; i < 400000; i++) {
		uint32_t which = (uint32_t)(hash_u64(i) % KEYS);
		uint64_t key = hpw_block_key(which % 7, which);
		struct hpw_block block = {0};
		if (hash_u64(~i) & 1 && !there[which]) {
			CHECK(hpw_blocks_add(&blocks, key, which * 3, which));
			there[which] = true;
			len++;
		} else {
			CHECK_U64(hpw_blocks_take(&blocks, key, &block), there[which]);
			if (there[which]) {
				CHECK_U64(block.size, which * 3);
				CHECK_U64(block.site, which);
				len--;
			}
			there[which] = false;
		}
		CHECK_U64(blocks.len, len);
	}
	hpw_blocks_deinit(&blocks);
}

CASE(empty, "an empty table has nothing")
{
	struct hpw_blocks blocks;
	hpw_blocks_init(&blocks);
	struct hpw_block block;
	CHECK(!hpw_blocks_take(&blocks, 1, &block));
	hpw_blocks_deinit(&blocks);
}

CASE(memory, "a million blocks in a row take at most 64 bytes each")
{
	struct hpw_blocks blocks;
	hpw_blocks_init(&blocks);
	for (uint64_t i = 0; i < 1000000; i++)
		CHECK(hpw_blocks_add(&blocks, hpw_block_key(3, i), i, (uint32_t)i));
	CHECK_U64(blocks.len, 1000000);
	CHECK(blocks.cap * sizeof(*blocks.places) <= 64 * blocks.len);
	for (uint64_t i = 1000000; i-- > 0;) {
		struct hpw_block block;
		CHECK(hpw_blocks_take(&blocks, hpw_block_key(3, i), &block));
		CHECK_U64(block.size, i);
	}
	hpw_blocks_deinit(&blocks);
}

TAP_MAIN
