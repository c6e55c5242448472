/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The search for leaks on heaps made by hand: what random ones (test_search_random.c) do not show.
 */
#include "search/search.h"

#include "lib/tap.h"
#include "search/counting.h"
#include "search/graph.h"
#include "search/space.h"

#define HEAP 0x10000000ull
#define ROOTS 0x20000000ull

struct picture {
	uint64_t *heap, *roots;
	size_t heap_words, root_words;
};

static size_t read_picture(void *context, uint64_t address, void *ret, size_t bytes)
{
	const struct picture *p = context;
	bool heap = address < ROOTS;
	uint64_t start = heap ? HEAP : ROOTS, size = 8 * (heap ? p->heap_words : p->root_words);
	if (address < start || address >= start + size)
		return 0;
	size_t left = (size_t)(start + size - address), n = bytes < left ? bytes : left;
	memcpy(ret, (const char *)(heap ? p->heap : p->roots) + (address - start), n);
	return n;
}

static struct search *new_search(unsigned alignment)
{
	const struct search_options options = {.alignment = alignment};
	struct search *search;
	CHECK_OK(search_create(&options, &search));
	return search;
}

static void run(struct search *search, struct picture *picture)
{
	const struct search_memory memory = {picture, read_picture, NULL};
	const struct search_root root = {.start = ROOTS, .end = ROOTS + 8 * picture->root_words};
	CHECK_OK(search_run(search, &memory, &root, 1));
}

CASE(refused, "blocks that overlap, go back or are no addresses are refused")
{
	struct search *search = new_search(8);
	CHECK_OK(search_add_block(search, HEAP, 32, 0));
	CHECK_ERROR(search_add_block(search, HEAP + 31, 8, 0), ERROR_INPUT, "out of order");
	CHECK_ERROR(search_add_block(search, HEAP - 64, 8, 0), ERROR_INPUT, "out of order");
	CHECK_ERROR(search_add_block(search, 0, 8, 0), ERROR_INPUT, "no address");
	CHECK_ERROR(search_add_block(search, UINT64_MAX - 3, 8, 0), ERROR_INPUT, "no address");
	CHECK_ERROR(search_add_block(search, HEAP + 64, UINT64_MAX, 0), ERROR_INPUT, "no address");
	CHECK_ERROR(search_add_block(search, 1ull << 48, 8, 0), ERROR_INPUT, "no address");
	CHECK_OK(search_add_block(search, HEAP + 32, 0, 0));
	CHECK_ERROR(search_add_block(search, HEAP + 32, 8, 0), ERROR_INPUT, "out of order");
	CHECK_OK(search_add_block(search, (1ull << 48) - 16, 16, 0));
	search_destroy(search);
}

CASE(nothing, "no blocks, no roots and no memory are searched, too")
{
	struct picture picture = {NULL, NULL, 0, 0};
	struct search *search = new_search(8);
	run(search, &picture);
	CHECK_U64(search_totals(search)->blocks[SEARCH_DEFINITE], 0);
	search_destroy(search);
	search = new_search(1);
	CHECK_OK(search_add_block(search, HEAP, 4096, 3));
	run(search, &picture);
	CHECK_U64(search_totals(search)->bytes[SEARCH_DEFINITE], 4096);
	CHECK_U64(search_totals(search)->unread_bytes, 4096);
	search_destroy(search);
	search_destroy(NULL);
}

/* A list of blocks of 16 bytes, of one site, each holding the next. */
static struct search *search_list(
	size_t blocks, bool is_held, bool is_ring, struct picture *picture)
{
	picture->heap_words = 2 * blocks;
	picture->root_words = 1;
	picture->heap = calloc(picture->heap_words, 8);
	picture->roots = calloc(1, 8);
	CHECK(picture->heap && picture->roots);
	struct search *search = new_search(8);
	for (size_t i = 0; i < blocks; i++) {
		CHECK_OK(search_add_block(search, HEAP + 16 * i, 16, 5));
		picture->heap[2 * i] = i + 1 < blocks ? HEAP + 16 * (i + 1) : is_ring ? HEAP : 0;
	}
	picture->roots[0] = is_held ? HEAP : 0;
	run(search, picture);
	free(picture->heap);
	free(picture->roots);
	return search;
}

CASE(long_list, "a list of a million blocks needs no deep stack, and is one group")
{
	enum { BLOCKS = 1000000 };
	struct picture picture;
	struct search *search = search_list(BLOCKS, true, false, &picture);
	size_t records, groups;
	const struct search_record *record = search_records(search, &records);
	const struct search_group *group = search_groups(search, &groups);
	CHECK(records == 1 && groups == 1 && group->repeats == 1 && !group->holder);
	CHECK(record->kind == SEARCH_REACHABLE && record->blocks == BLOCKS);
	CHECK_U64(group->root_address, ROOTS);
	CHECK_U64(group->block, HEAP);
	search_destroy(search);
}

CASE(lost_list, "the first of a lost list leads all others, and so does one of a lost ring")
{
	enum { BLOCKS = 300000 };
	for (int is_ring = 0; is_ring < 2; is_ring++) {
		struct picture picture;
		struct search *search = search_list(BLOCKS, false, is_ring, &picture);
		size_t records;
		const struct search_record *record = search_records(search, &records);
		CHECK_U64(records, 2);
		record += record->kind != SEARCH_DEFINITE;
		CHECK(record->blocks == 1 && record->indirect_blocks == BLOCKS - 1);
		CHECK_U64(record->indirect_bytes, 16 * (BLOCKS - 1));
		CHECK_U64(record->example, HEAP);
		search_destroy(search);
	}
}

static bool is_above(void *context, uint64_t address)
{
	return address >= *(const uint64_t *)context;
}

/* A lost list of four blocks, of which the first two do not count. */
CASE(counting, "lost blocks that do not count are in no figure; what they hold is lost no less")
{
	uint64_t heap[8] = {HEAP + 16, 0, HEAP + 32, 0, HEAP + 48, 0, 0, 0}, root = 0;
	uint64_t from = HEAP + 32;
	struct picture picture = {heap, &root, 8, 1};
	struct search *search = new_search(8);
	for (size_t i = 0; i < 4; i++)
		CHECK_OK(search_add_block(search, HEAP + 16 * i, 16, 5));
	search_set_counting(search, is_above, &from);
	run(search, &picture);
	const struct search_totals *totals = search_totals(search);
	CHECK(!totals->blocks[SEARCH_DEFINITE] && totals->blocks[SEARCH_INDIRECT] == 2);
	size_t records;
	const struct search_record *record = search_records(search, &records);
	CHECK(records == 1 && record->blocks == 2 && record->bytes == 32);
	CHECK_U64(record->indirect_blocks, 0);
	search_destroy(search);
}

CASE(far_interiors, "pointers that lead too far into a block hold nothing")
{
	uint64_t heap[32] = {0}, roots[2] = {HEAP + 64, HEAP + 128 + 65};
	struct picture picture = {heap, roots, 32, 2};
	const struct search_memory memory = {&picture, read_picture, NULL};
	const struct search_root root = {.start = ROOTS, .end = ROOTS + sizeof(roots)};
	struct search *search = new_search(8);
	CHECK_OK(search_add_block(search, HEAP, 128, 1));
	CHECK_OK(search_add_block(search, HEAP + 128, 128, 2));
	CHECK_OK(search_read(search, &memory, &root, 1));
	search_drop_far_interiors(search, 64);
	CHECK_OK(search_classify(search));
	CHECK_U64(search_totals(search)->blocks[SEARCH_POSSIBLE], 1);
	CHECK_U64(search_totals(search)->blocks[SEARCH_DEFINITE], 1);
	search_destroy(search);
}

CASE(reserved, "room that was made is no promise: fewer blocks may come, or more")
{
	struct picture picture = {calloc(8, 8), calloc(1, 8), 8, 1};
	for (unsigned room = 0; room < 5; room += 4) {
		struct search *search = new_search(8);
		CHECK_OK(search_reserve(search, room));
		CHECK_OK(search_add_block(search, HEAP, 8, 1));
		CHECK_OK(search_add_block(search, HEAP + 16, 8, 1));
		run(search, &picture);
		CHECK_U64(search_totals(search)->blocks[SEARCH_DEFINITE], 2);
		CHECK_ERROR(search_reserve(search, UINT64_MAX), ERROR_ENVIRONMENT, "memory");
		search_destroy(search);
	}
	free(picture.heap);
	free(picture.roots);
}

CASE(explained, "what a heuristic alone explains is counted, until a pointer to its start is found")
{
	for (unsigned plain = 0; plain < 2; plain++) {
		struct picture picture = {calloc(8, 8), calloc(2, 8), 8, 2};
		const struct search_options options = {
			.alignment = 8, .heuristics = SEARCH_LENGTH64};
		struct search *search;
		CHECK_OK(search_create(&options, &search));
		CHECK_OK(search_add_block(search, HEAP, 24, 1));
		CHECK_OK(search_add_block(search, HEAP + 32, 16, 2));
		picture.heap[0] = 16; /* the size of the rest */
		picture.heap[4] = plain ? HEAP : 0;
		picture.roots[0] = HEAP + 8;
		picture.roots[1] = HEAP + 32;
		run(search, &picture);
		const struct search_totals *totals = search_totals(search);
		CHECK_U64(totals->blocks[SEARCH_REACHABLE], 2);
		CHECK_U64(totals->heuristic_blocks[1], plain ? 0 : 1);
		CHECK_U64(totals->heuristic_bytes[1], plain ? 0 : 24);
		search_destroy(search);
		free(picture.heap);
		free(picture.roots);
	}
}

/* Blocks as an allocator rounds them up; the third is not to be explained. */
static enum search_chance rounded(
	void *context, uint32_t block, uint64_t into, struct search_requested *asked)
{
	CHECK_U64(into, 8);
	CHECK_U64(asked->most, 104);
	CHECK_U64(asked->least, 104);
	*asked = *(const struct search_requested *)context;
	return block == 2 ? SEARCH_NO_CHANCE : SEARCH_CHANCE;
}

/* Whether a number at the beginning of a block explains a pointer behind it. */
static bool explains(unsigned heuristics, uint64_t number, bool has_pointer, uint32_t which)
{
	struct picture picture = {calloc(56, 8), calloc(1, 8), 56, 1};
	struct search_requested asked = {73, 104, 89};
	const struct search_options options = {.alignment = 8,
		.heuristics = heuristics,
		.may_explain = rounded,
		.may_explain_context = &asked};
	struct search *search;
	CHECK_OK(search_create(&options, &search));
	for (uint32_t i = 0; i < 4; i++)
		CHECK_OK(search_add_block(search, HEAP + 112 * i, 104, 1));
	picture.heap[14 * which] = number;
	picture.heap[14 * which + 5] = has_pointer ? HEAP + 112 * 3 : 0;
	picture.roots[0] = HEAP + 112 * which + 8;
	run(search, &picture);
	enum search_kind kind = search_kind(search, which);
	CHECK(kind == SEARCH_REACHABLE || kind == SEARCH_POSSIBLE);
	search_destroy(search);
	free(picture.heap);
	free(picture.roots);
	return kind == SEARCH_REACHABLE;
}

CASE(rounded_up, "where sizes were rounded up, a heuristic fits if one that was asked for does")
{
	for (unsigned has = 0; has < 2; has++) {
		for (uint64_t length = 0; length < 200; length++) {
			bool fits = length >= 73 - 8 && length <= 104 - 8;
			CHECK(explains(SEARCH_LENGTH64, length, has, 0) == fits);
		}
		CHECK(!explains(SEARCH_LENGTH64, UINT64_MAX, has, 0));
		CHECK(!explains(SEARCH_LENGTH64, UINT64_MAX - 7, has, 0));
	}
	CHECK(!explains(SEARCH_LENGTH64, 96, false, 2));
	/* Elements take 81 to 96 bytes together; what holds pointers is of multiples of 8. */
	for (uint64_t count = 0; count < 120; count++) {
		uint64_t any = count ? 96 / count * count : 0;
		uint64_t words = count ? 96 / count / 8 * 8 * count : 0;
		CHECK(explains(SEARCH_NEWARRAY, count, false, 0) == (any >= 81));
		CHECK(explains(SEARCH_NEWARRAY, count, true, 0) == (words >= 81));
	}
	CHECK(!explains(SEARCH_NEWARRAY, UINT64_MAX, false, 0));
}

/* The second block is one that was seen to have two vtables. */
static enum search_chance seen_before(
	void *context, uint32_t block, uint64_t into, struct search_requested *asked)
{
	(void)context;
	(void)asked;
	CHECK_U64(into, 16);
	return block == 1 ? SEARCH_SURE_BASE : SEARCH_NO_CHANCE;
}

static size_t read_roots_only(void *context, uint64_t address, void *ret, size_t bytes)
{
	return address < ROOTS ? 0 : read_picture(context, address, ret, bytes);
}

CASE(sure_base, "what is known of a block's bases is believed, and the block is not read for it")
{
	uint64_t words[2] = {HEAP + 16, HEAP + 64 + 16};
	struct picture picture = {NULL, words, 0, 2};
	const struct search_memory memory = {&picture, read_roots_only, NULL};
	const struct search_root root = {.start = ROOTS, .end = ROOTS + sizeof(words)};
	const struct search_options options = {
		.alignment = 8, .heuristics = SEARCH_HEURISTICS_ALL, .may_explain = seen_before};
	struct search *search;
	CHECK_OK(search_create(&options, &search));
	CHECK_OK(search_add_block(search, HEAP, 48, 1));
	CHECK_OK(search_add_block(search, HEAP + 64, 40, 2));
	CHECK_OK(search_run(search, &memory, &root, 1));
	CHECK(search_kind(search, 0) == SEARCH_POSSIBLE);
	CHECK(search_kind(search, 1) == SEARCH_REACHABLE);
	CHECK(search_heuristic_of(search, 1) == SEARCH_MULTIPLEINHERITANCE);
	CHECK_U64(search_totals(search)->heuristic_bytes[3], 40);
	search_destroy(search);
}

CASE(backwards, "a list that was lost from its last block in memory on has one leader")
{
	enum { BLOCKS = 1000 };
	struct picture picture = {calloc(2 * BLOCKS, 8), calloc(1, 8), 2 * BLOCKS, 1};
	struct search *search = new_search(8);
	for (size_t i = 0; i < BLOCKS; i++) {
		CHECK_OK(search_add_block(search, HEAP + 16 * i, 16, 1));
		picture.heap[2 * i] = i ? HEAP + 16 * (i - 1) : 0;
	}
	run(search, &picture);
	CHECK(search_kind(search, BLOCKS - 1) == SEARCH_DEFINITE);
	CHECK_U64(search_totals(search)->blocks[SEARCH_INDIRECT], BLOCKS - 1);
	search_destroy(search);
	free(picture.heap);
	free(picture.roots);
}

static uint64_t latest_first(void *context, uint64_t address)
{
	(void)context;
	return UINT64_MAX - address;
}

CASE(oldest_leads, "of a lost ring the block leads that was allocated first, wherever it stands")
{
	uint64_t heap[] = {HEAP + 16, 0, HEAP + 32, 0, HEAP, 0};
	struct picture picture = {heap, NULL, 6, 0};
	const struct search_options options = {.alignment = 8, .age = latest_first};
	struct search *search;
	CHECK_OK(search_create(&options, &search));
	for (uint32_t i = 0; i < 3; i++)
		CHECK_OK(search_add_block(search, HEAP + 16 * i, 16, i));
	run(search, &picture);
	CHECK_U64(search_kind(search, 0), SEARCH_INDIRECT);
	CHECK_U64(search_kind(search, 1), SEARCH_INDIRECT);
	CHECK_U64(search_kind(search, 2), SEARCH_DEFINITE);
	search_destroy(search);
}

/* The block that stands last was there first. */
static uint64_t last_first(void *context, uint64_t address)
{
	return *(const uint64_t *)context - address;
}

CASE(oldest_of_many, "of a lost ring of more than a million blocks the oldest leads, too")
{
	enum { BLOCKS = (1 << 20) + 1000 };
	struct picture picture = {calloc(2 * BLOCKS, 8), calloc(1, 8), 2 * BLOCKS, 1};
	uint64_t last = HEAP + 16ull * (BLOCKS - 1);
	const struct search_options options = {
		.alignment = 8, .age = last_first, .age_context = &last};
	struct search *search;
	CHECK_OK(search_create(&options, &search));
	for (size_t i = 0; i < BLOCKS; i++) {
		CHECK_OK(search_add_block(search, HEAP + 16 * i, 16, 1));
		picture.heap[2 * i] = HEAP + 16 * ((i + 1) % BLOCKS);
	}
	run(search, &picture);
	CHECK_U64(search_kind(search, BLOCKS - 1), SEARCH_DEFINITE);
	CHECK_U64(search_totals(search)->blocks[SEARCH_DEFINITE], 1);
	CHECK_U64(search_totals(search)->blocks[SEARCH_INDIRECT], BLOCKS - 1);
	search_destroy(search);
	free(picture.heap);
	free(picture.roots);
}

CASE(many_ways, "words of a table are told apart, beyond a bound by pages, and never not at all")
{
	enum { WORDS = 5000, FINE = 300, PAGE_WORDS = SEARCH_TOGETHER_BYTES / 8 };
	struct picture picture = {calloc(4 * WORDS, 8), calloc(WORDS, 8), 4 * WORDS, WORDS};
	const struct search_options options = {.alignment = 8, .words_fine = FINE};
	struct search *search;
	CHECK_OK(search_create(&options, &search));
	for (size_t i = 0; i < WORDS; i++) {
		uint64_t first = HEAP + 32 * i;
		CHECK_OK(search_add_block(search, first, 16, 1));
		CHECK_OK(search_add_block(search, first + 16, 16, 2));
		picture.heap[4 * i] = first + 16;
		picture.roots[i] = first;
	}
	run(search, &picture);
	size_t count, groups;
	uint64_t blocks = 0, alone = 0;
	const struct search_record *records = search_records(search, &count);
	const struct search_group *all = search_groups(search, &groups);
	/* Roots come first: each of their groups, and one that it holds. */
	CHECK_U64(groups, 2 * (FINE + WORDS / PAGE_WORDS + 1));
	for (size_t i = 0; i < count; i++) {
		const struct search_record *record = &records[i];
		CHECK(record->group < groups);
		const struct search_group *group = &all[record->group];
		uint64_t word = ROOTS + 8 * ((record->example - HEAP) / 32);
		CHECK(record->blocks <= PAGE_WORDS);
		CHECK_U64(
			group->root_address / SEARCH_TOGETHER_BYTES, word / SEARCH_TOGETHER_BYTES);
		if (group->parent != SEARCH_NO_GROUP)
			group = &all[group->parent];
		CHECK(group->together || (record->blocks == 1 && group->root_address == word));
		alone += !group->together;
		blocks += record->blocks;
	}
	CHECK_U64(blocks, 2 * WORDS);
	CHECK_U64(alone, 2 * FINE);
	search_destroy(search);
	free(picture.heap);
	free(picture.roots);
}

CASE(too_many_ways,
	"where there are too many ways blocks are held all the same, and that is marked")
{
	enum { WORDS = 200, MOST = 50 };
	struct picture picture = {calloc(2 * WORDS, 8), calloc(WORDS, 8), 2 * WORDS, WORDS};
	const struct search_options options = {.alignment = 8, .groups_most = MOST};
	struct search *search;
	CHECK_OK(search_create(&options, &search));
	for (size_t i = 0; i < WORDS; i++) {
		CHECK_OK(search_add_block(search, HEAP + 16 * i, 16, 1));
		picture.roots[i] = HEAP + 16 * i;
	}
	run(search, &picture);
	size_t groups, count;
	const struct search_group *all = search_groups(search, &groups);
	CHECK_U64(groups, MOST);
	CHECK(all[MOST - 1].together && !all[0].together);
	const struct search_record *records = search_records(search, &count);
	CHECK_U64(count, MOST + 1);
	CHECK(records[MOST].group == SEARCH_NO_GROUP && records[MOST].kind == SEARCH_REACHABLE);
	CHECK_U64(records[MOST].blocks, WORDS - MOST);
	search_destroy(search);
	free(picture.heap);
	free(picture.roots);
}

CASE(alignment, "words at odd addresses are seen only when they are asked for")
{
	uint64_t roots[4] = {0}, heap[8] = {0};
	static const unsigned places[] = {8, 4, 2, 1};
	for (unsigned i = 0; i < 4; i++) {
		memset(roots, 0, sizeof(roots));
		memcpy((char *)roots + places[i], &(uint64_t){HEAP}, 8);
		for (unsigned alignment = 1; alignment <= 8; alignment *= 2) {
			struct picture picture = {heap, roots, 8, 4};
			struct search *search = new_search(alignment);
			CHECK_OK(search_add_block(search, HEAP, 64, 0));
			run(search, &picture);
			bool seen = places[i] % alignment == 0;
			CHECK(search_kind(search, 0) ==
				(seen ? SEARCH_REACHABLE : SEARCH_DEFINITE));
			search_destroy(search);
		}
	}
}

/* Blocks from `from` on, with a large one now and then, and one that reaches into the next region.
 */
static void add_some(struct search *search, uint64_t from, uint64_t end, uint32_t site)
{
	uint64_t sizes[] = {24, 40, 1000, 70000, 8, 20ull << 20, 300};
	for (unsigned i = 0; from < end; i++) {
		uint64_t size = sizes[i % ARRAY_SIZE(sizes)];
		CHECK_OK(search_add_block(search, from, size, site + i % 3));
		from += size + 8;
	}
}

CASE(appended, "blocks of two searches in one are numbered, found and measured as if they were "
	       "added there")
{
	const uint64_t start = 0x10000, end = start + (50ull << 20);
	uint32_t sites[] = {5, 6, 7};
	/* Where the first ends: in the middle of a region, behind a large block, nowhere. */
	for (unsigned blocks = 0; blocks < 12; blocks += 1) {
		struct search_options options = {.alignment = 8};
		struct search *one, *two, *all;
		CHECK_OK(search_create(&options, &one));
		CHECK_OK(search_create(&options, &two));
		CHECK_OK(search_create(&options, &all));
		add_some(all, start, end, 5);
		for (uint32_t i = 0; i < search_block_count(all); i++)
			CHECK_OK(search_add_block(i < blocks ? one : two,
				search_block_address(all, i), search_block_size(all, i),
				search_block_site(all, i) - (i < blocks ? 0 : 5)));
		CHECK_OK(search_append(one, two, sites));
		CHECK_U64(search_block_count(one), search_block_count(all));
		for (uint32_t i = 0; i < search_block_count(all); i++) {
			uint64_t address = search_block_address(all, i), offset = 0, wanted = 0;
			uint64_t size = search_block_size(all, i);
			CHECK_U64(search_block_address(one, i), address);
			CHECK_U64(search_block_size(one, i), size);
			CHECK_U64(search_block_site(one, i), search_block_site(all, i));
			uint64_t places[] = {address, address + size - 1, address + size / 2};
			for (unsigned k = 0; k < ARRAY_SIZE(places); k++) {
				CHECK_U64(search_block_at(one, places[k], &offset), i);
				CHECK_U64(search_block_at(all, places[k], &wanted), i);
				CHECK_U64(offset, wanted);
			}
			CHECK_U64(search_block_at(one, address + size, &offset), SPACE_NONE);
		}
		search_destroy(one);
		search_destroy(two);
		search_destroy(all);
	}
}

CASE(large_blocks, "pointers into blocks of many regions, and of more than 4 GiB, are found")
{
	static const uint64_t sizes[] = {
		16, 70000, (16ull << 20) - 1, 16ull << 20, 5ull << 30, 1, 0};
	enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
	uint64_t at = 0x7f0000001000, address[COUNT];
	static struct space space;
	space_init(&space);
	for (unsigned i = 0; i < COUNT; i++) {
		address[i] = at;
		CHECK(space_add(&space, at, sizes[i]) == SPACE_ADDED);
		at += sizes[i] + (i % 2 ? 8 : 0) + (sizes[i] ? 0 : 8);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t offset, last = sizes[i] ? sizes[i] - 1 : 0;
		const uint64_t into[] = {0, last / 2, last / 3 * 2, last};
		CHECK_U64(space_size(&space, i), sizes[i]);
		CHECK_U64(space_address(&space, i), address[i]);
		for (unsigned j = 0; j < 4; j++) {
			CHECK_U64(space_find(&space, address[i] + into[j], &offset), i);
			CHECK_U64(offset, into[j]);
		}
		if (i % 2)
			CHECK_U64(space_find(&space, address[i] + last + 1, &offset), SPACE_NONE);
	}
	space_deinit(&space);
}

#define ROW_BLOCKS 1000u
#define TABLE_WORDS 70000u

/* Some blocks hold more than the others of their row together. */
static uint32_t row_words(uint32_t block, uint32_t lead)
{
	bool is_table = block == lead + 70 || block == lead + 200 || block == ROW_BLOCKS - 2;
	return is_table ? TABLE_WORDS : block % 3;
}

static uint32_t row_target(uint32_t block, uint32_t word)
{
	uint32_t target = (block * 7 + word * 13) % ROW_BLOCKS;
	return target == block ? (target + 1) % ROW_BLOCKS : target;
}

/* Returns how many edges are not what the words of the blocks are. */
static uint32_t wrong_edges(const struct search *search, uint32_t lead)
{
	const struct graph *graph = search_graph(search);
	uint32_t wrong = 0;
	for (uint32_t block = 0; block < ROW_BLOCKS; block++) {
		uint32_t from = graph_edges(graph, block), words = row_words(block, lead);
		wrong += graph_edges_end(graph, block) - from != words;
		for (uint32_t i = 0; i < words && !wrong; i++)
			wrong += graph->edges.data[from + i] != row_target(block, i);
	}
	return wrong;
}

CASE(rows, "edges begin where they do if a few blocks have very many, by one thread and by two")
{
	static uint64_t heap[2 * ROW_BLOCKS + 3 * TABLE_WORDS], address[ROW_BLOCKS + 1];
	for (uint32_t lead = 0; lead < 130; lead += 43) {
		struct picture picture = {heap, NULL, ARRAY_SIZE(heap), 0};
		for (unsigned beside = 0; beside < 2; beside++) {
			const struct search_options options = {
				.alignment = 8, .beside_bytes = beside ? 1 : UINT64_MAX};
			const struct search_memory memory = {&picture, read_picture, NULL};
			struct search *search;
			CHECK_OK(search_create(&options, &search));
			address[0] = HEAP;
			for (uint32_t i = 0; i < ROW_BLOCKS; i++) {
				uint64_t bytes = 8ull * row_words(i, lead);
				CHECK_OK(search_add_block(search, address[i], bytes, 0));
				address[i + 1] = address[i] + (bytes ? bytes : 8);
			}
			for (uint32_t i = 0; i < ROW_BLOCKS; i++)
				for (uint32_t k = 0; k < row_words(i, lead); k++)
					heap[(address[i] - HEAP) / 8 + k] =
						address[row_target(i, k)];
			CHECK_OK(search_run(search, &memory, NULL, 0));
			CHECK(beside == (search_graph(search)->split != 0));
			CHECK_U64(wrong_edges(search, lead), 0);
			search_destroy(search);
		}
	}
}

TAP_MAIN
