/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/space.h"

#include <stdlib.h>
#include <string.h>

void space_init(struct space *space)
{
	memset(space, 0, sizeof(*space));
}

void space_deinit(struct space *space)
{
	for (size_t i = 0; i < sizeof(space->top) / sizeof(space->top[0]); i++)
		free(space->top[i]);
	space_regions_deinit(&space->regions);
	space_starts_vec_deinit(&space->starts);
	space_larges_deinit(&space->larges);
	space_u32_deinit(&space->marks);
	space_u16_deinit(&space->offsets);
	space_u16_deinit(&space->sizes);
	space_sizes_deinit(&space->huge);
}

bool space_reserve(struct space *space, uint32_t blocks)
{
	return space_u16_reserve(&space->offsets, blocks) &&
	       space_u16_reserve(&space->sizes, blocks);
}

static uint64_t end_of(uint64_t address, uint64_t size)
{
	return address + (size ? size : 1);
}

/* Appends the region, if it is not the last one already. */
static struct space_region *region_add(struct space *space, uint64_t key)
{
	struct space_regions *regions = &space->regions;
	if (regions->len && regions->data[regions->len - 1].key == key)
		return &regions->data[regions->len - 1];
	uint32_t **leaf = &space->top[key >> 16];
	if (!*leaf)
		*leaf = calloc(1u << 16, sizeof(**leaf));
	struct space_region *region = *leaf ? space_regions_push_uninit(regions) : NULL;
	if (!region)
		return NULL;
	*region = (struct space_region){.before_end = space->high,
		.first = (uint32_t)space->sizes.len,
		.key = (uint32_t)key};
	(*leaf)[key & 0xffff] = (uint32_t)regions->len;
	return region;
}

/* The regions that the last block reaches into. */
static bool cover_regions(struct space *space, uint64_t address, uint64_t end)
{
	uint64_t from = address >> SPACE_REGION_BITS, to = (end - 1) >> SPACE_REGION_BITS;
	if (end - address >= SPACE_LARGE) {
		struct space_large large = {address, end, (uint32_t)space->sizes.len - 1};
		return space_larges_push(&space->larges, large);
	}
	for (uint64_t key = from + 1; key <= to; key++) {
		if (!region_add(space, key))
			return false;
	}
	return true;
}

static bool size_add(struct space *space, uint64_t size)
{
	bool huge = size >= SPACE_HUGE;
	uint64_t *place =
		huge ? space_sizes_insert(&space->huge, (uint32_t)space->sizes.len, NULL) : NULL;
	if (huge && !place)
		return false;
	if (huge)
		*place = size;
	return space_u16_push(&space->sizes, huge ? SPACE_HUGE : (uint16_t)size);
}

enum space_added space_add(struct space *space, uint64_t address, uint64_t size)
{
	uint64_t end = end_of(address, size);
	if (!address || end <= address || end > 1ull << SPACE_ADDRESS_BITS ||
		(space->sizes.len && address < space->high))
		return SPACE_REFUSED;
	if (space->sizes.len == SPACE_BLOCKS_MAX)
		return SPACE_NO_MEMORY;
	struct space_region *region = region_add(space, address >> SPACE_REGION_BITS);
	uint16_t offset = (uint16_t)(address & ((1u << SPACE_REGION_BITS) - 1));
	bool is_marked = space->sizes.len % SPACE_MARKED == 0;
	if (!region ||
		(is_marked && !space_u32_push(&space->marks, (uint32_t)space->regions.len - 1)) ||
		!space_u16_push(&space->offsets, offset) || !size_add(space, size))
		return SPACE_NO_MEMORY;
	region->count++;
	/* All pages alike, so that they are counted at once. */
	const int16_t at = (int16_t)(offset >> SPACE_PAGE_BITS);
	for (int16_t page = 0; page < (int16_t)SPACE_PAGES; page++)
		region->pages[page] = (uint16_t)(region->pages[page] + (page > at));
	if (space->sizes.len == 1)
		space->low = address;
	space->high = end;
	return cover_regions(space, address, end) ? SPACE_ADDED : SPACE_NO_MEMORY;
}

/* Moves the elements of `after` to `to`. */
static void append_u16(struct space_u16 *to, struct space_u16 *after)
{
	if (after->len)
		memcpy(to->data + to->len, after->data, after->len * sizeof(*to->data));
	to->len += after->len;
	space_u16_deinit(after);
}

static bool append_blocks(struct space *space, struct space *after)
{
	size_t count = space->sizes.len + after->sizes.len;
	if (count > SPACE_BLOCKS_MAX || !space_reserve(space, (uint32_t)count))
		return false;
	append_u16(&space->offsets, &after->offsets);
	append_u16(&space->sizes, &after->sizes);
	return true;
}

static bool append_large(struct space *space, const struct space *after, uint32_t before)
{
	uint32_t position = 0;
	const uint32_t *block;
	for (uint64_t *size; (size = space_sizes_next(&after->huge, &position, &block));) {
		uint64_t *place = space_sizes_insert(&space->huge, before + *block, NULL);
		if (!place)
			return false;
		*place = *size;
	}
	for (size_t i = 0; i < after->larges.len; i++) {
		struct space_large large = after->larges.data[i];
		large.block += before;
		if (!space_larges_push(&space->larges, large))
			return false;
	}
	return true;
}

/* The first region may be the one that these end in. */
static bool append_regions(struct space *space, const struct space *after, uint32_t before)
{
	for (size_t i = 0; i < after->regions.len; i++) {
		const struct space_region *from = &after->regions.data[i];
		size_t known = space->regions.len;
		struct space_region *region = region_add(space, from->key);
		if (!region)
			return false;
		if (space->regions.len > known) {
			region->first = before + from->first;
			region->before_end = from->first ? from->before_end : space->high;
		}
		region->count += from->count;
		for (unsigned page = 0; page < SPACE_PAGES; page++)
			region->pages[page] = (uint16_t)(region->pages[page] + from->pages[page]);
	}
	return true;
}

/* Adds the marks of blocks that were moved from another space. */
static bool append_marks(struct space *space)
{
	struct space_u32 *marks = &space->marks;
	uint32_t region = marks->len ? marks->data[marks->len - 1] : 0;
	for (uint64_t block; (block = (uint64_t)marks->len * SPACE_MARKED) < space->sizes.len;) {
		const struct space_region *r = &space->regions.data[region];
		while (block >= (uint64_t)r->first + r->count)
			r = &space->regions.data[++region];
		if (!space_u32_push(marks, region))
			return false;
	}
	return true;
}

bool space_append(struct space *space, struct space *after)
{
	uint32_t before = space_count(space);
	if (!space_count(after))
		return true;
	if (!append_regions(space, after, before) || !append_large(space, after, before) ||
		!append_blocks(space, after) || !append_marks(space))
		return false;
	if (!before)
		space->low = after->low;
	space->high = after->high;
	return true;
}

uint32_t space_region_of(const struct space *space, uint32_t block)
{
	const struct space_region *regions = space->regions.data;
	size_t mark = block / SPACE_MARKED, low = space->marks.data[mark];
	size_t high = mark + 1 < space->marks.len ? space->marks.data[mark + 1] + 1ul
						  : space->regions.len;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (regions[middle].first <= block)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low;
}

uint64_t space_address(const struct space *space, uint32_t block)
{
	const struct space_region *region = &space->regions.data[space_region_of(space, block)];
	return ((uint64_t)region->key << SPACE_REGION_BITS) + space->offsets.data[block];
}

static uint32_t find_large(const struct space *space, uint64_t address, uint64_t *ret_offset)
{
	const struct space_large *larges = space->larges.data;
	size_t low = 0, high = space->larges.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (larges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == space->larges.len || address < larges[low].start)
		return SPACE_NONE;
	*ret_offset = address - larges[low].start;
	return larges[low].block;
}

/* Returns how many of the region's blocks begin at or before an offset. */
static uint32_t count_begun(
	const struct space *space, const struct space_region *region, uint32_t offset)
{
	uint32_t low, high;
	space_page(region, offset, &low, &high);
	const uint16_t *offsets = space->offsets.data + region->first;
	uint32_t guess = space_guess(offset, low, high);
	if (guess < high && offsets[guess] == offset)
		return guess + 1;
	if (guess >= low + SPACE_GUESS_NEAR) {
		if (offsets[guess - SPACE_GUESS_NEAR] <= offset)
			low = guess - SPACE_GUESS_NEAR;
		else
			high = guess - SPACE_GUESS_NEAR;
	}
	if (guess + SPACE_GUESS_NEAR < high && offsets[guess + SPACE_GUESS_NEAR] > offset)
		high = guess + SPACE_GUESS_NEAR;
	/* Without branches, which would be unpredictable. */
	uint32_t length = high - low;
	for (; length > 1; length -= length / 2)
		low += offsets[low + length / 2 - 1] <= offset ? length / 2 : 0;
	return low + (length && offsets[low] <= offset);
}

/* Without a call, as processors without an instruction for it need (Hacker's Delight, 5-1). */
static inline uint32_t count_bits(uint64_t bits)
{
	bits -= bits >> 1 & 0x5555555555555555ull;
	bits = (bits & 0x3333333333333333ull) + (bits >> 2 & 0x3333333333333333ull);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (uint32_t)(bits * 0x0101010101010101ull >> 56);
}

static void index_region(
	const struct space *space, const struct space_region *region, struct space_starts *ret)
{
	const uint16_t *offsets = space->offsets.data + region->first;
	uint8_t uneven = 0;
	memset(ret, 0, SPACE_PAGES * sizeof(*ret));
	for (uint32_t i = 0; i < region->count; i++) {
		uint32_t page = offsets[i] >> SPACE_PAGE_BITS,
			 grain = offsets[i] >> SPACE_GRAIN_BITS;
		uint64_t *word = &ret[page].bits[grain / 64 % SPACE_STARTS_WORDS];
		uneven |= offsets[i] % (1u << SPACE_GRAIN_BITS) ? SPACE_UNEVEN : 0;
		*word |= 1ull << grain % 64;
	}
	for (unsigned page = 0; page < SPACE_PAGES; page++) {
		ret[page].first = region->first + region->pages[page];
		for (unsigned word = 1; word < SPACE_STARTS_WORDS; word++)
			ret[page].before[word] = (uint8_t)(ret[page].before[word - 1] +
							   count_bits(ret[page].bits[word - 1]));
		ret[page].before[0] = uneven;
	}
}

void space_index(struct space *space)
{
	size_t count = space->regions.len * SPACE_PAGES;
	if (!space_starts_vec_reserve(&space->starts, count))
		return;
	for (size_t i = 0; i < space->regions.len; i++)
		index_region(space, &space->regions.data[i], space->starts.data + i * SPACE_PAGES);
	space->starts.len = count;
}

uint32_t space_find(const struct space *space, uint64_t address, uint64_t *ret_offset)
{
	uint32_t number = space_region_number(space, address), before;
	if (!number)
		return space->larges.len ? find_large(space, address, ret_offset) : SPACE_NONE;
	uint32_t offset = (uint32_t)(address & ((1u << SPACE_REGION_BITS) - 1));
	const struct space_starts *starts =
		space->starts.len ? space_starts_at(space, number, address) : NULL;
	const struct space_region *region = &space->regions.data[number - 1];
	if (starts && !starts->before[0]) {
		uint32_t grain = offset >> SPACE_GRAIN_BITS, word = grain / 64 % SPACE_STARTS_WORDS;
		uint64_t bits = starts->bits[word] << (63 - grain % 64);
		uint32_t begun = starts->first + starts->before[word] + count_bits(bits);
		if (bits >> 63 && !(offset % (1u << SPACE_GRAIN_BITS))) {
			*ret_offset = 0;
			return begun - 1;
		}
		before = begun - region->first;
	} else {
		before = count_begun(space, region, offset);
	}
	uint32_t block = region->first + before - 1;
	if (!before) {
		if (address >= region->before_end)
			return SPACE_NONE;
		*ret_offset = address - space_address(space, block);
		return block;
	}
	uint32_t distance = offset - space->offsets.data[block];
	/* Sizes are in other memory, and most pointers are to starts. */
	if (distance && distance >= space->sizes.data[block] &&
		distance >= space_size(space, block))
		return SPACE_NONE;
	*ret_offset = distance;
	return block;
}
