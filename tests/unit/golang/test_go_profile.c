/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read of Go programs: tables of functions of both layouts, lists of buckets, references of
 * code; also damaged ones. */
#include <math.h>

#include "golang/impl/go_buckets.h"
#include "golang/impl/go_functions.h"
#include "golang/impl/go_references.h"

#include "base/cleanup.h"
#include "base/util.h"
#include "lib/tap.h"

#define TEXT 0x401000ull
#define TABLE_BYTES 512u

/* A table that is made: main.outer, 64 bytes of code from TEXT on, of which [16, 32) is main.inner,
 * inlined; and main.last, 32 bytes. */
struct made_table {
	uint8_t bytes[TABLE_BYTES];
	uint8_t inlines[64];
	size_t len;
	struct go_functions functions;
};

static void put_u32(struct made_table *made, size_t at, uint32_t value)
{
	memcpy(made->bytes + at, &value, sizeof(value));
}

static size_t put_string(struct made_table *made, const char *string)
{
	size_t at = made->len;
	memcpy(made->bytes + at, string, strlen(string) + 1);
	made->len += strlen(string) + 1;
	return at;
}

static void put_header(struct made_table *made, bool is_newer, const uint64_t words[static 8])
{
	const uint8_t head[8] = {is_newer ? 0xf1 : 0xf0, 0xff, 0xff, 0xff, 0, 0, 1, 8};
	memcpy(made->bytes, head, sizeof(head));
	memcpy(made->bytes + sizeof(head), words, 8 * sizeof(words[0]));
}

/* The facts of a function, at an offset from the list of functions. */
static void put_facts(struct made_table *made, bool is_newer, size_t at, uint32_t name,
	const uint32_t values[static 3])
{
	size_t fixed = is_newer ? 44 : 40;
	put_u32(made, at + 4, name);
	put_u32(made, at + 20, values[0]);        /* files */
	put_u32(made, at + 24, values[1]);        /* lines */
	put_u32(made, at + 28, 3);                /* tables of values behind */
	put_u32(made, at + 32, 0);                /* unit */
	made->bytes[at + fixed - 1] = 4;          /* offsets of data behind */
	put_u32(made, at + fixed + 8, values[2]); /* inlined calls */
	for (size_t i = 0; i < 3; i++)
		put_u32(made, at + fixed + 12 + i * 4, UINT32_MAX);
	put_u32(made, at + fixed + 24, 0); /* the tree of inlined calls */
}

static void table_make(struct made_table *made, bool is_newer)
{
	*made = (struct made_table){.len = GO_TABLE_HEADER_BYTES};
	size_t names = made->len;
	uint32_t outer = (uint32_t)(put_string(made, "main.outer") - names);
	uint32_t inner = (uint32_t)(put_string(made, "main.inner") - names);
	uint32_t last = (uint32_t)(put_string(made, "main.last") - names);
	size_t units = made->len = align_up(made->len, 4);
	put_u32(made, units, 0);
	made->len += 4;
	size_t files = put_string(made, "/src/main.go");
	size_t values = made->len;
	/* Changes of the value, which begins at -1 (odd: minus half and one), and steps of code. */
	static const uint8_t tables[] = {0, /* offset 0 is none */
		/* 1: file 0 of the unit, for all */ 2, 64, 0,
		/* 4: lines 10, 20, 11 */ 22, 16, 20, 16, 17, 32, 0,
		/* 11: calls -1, 0, -1 */ 0, 16, 2, 16, 1, 32, 0};
	memcpy(made->bytes + values, tables, sizeof(tables));
	made->len = align_up(values + sizeof(tables), 8);
	size_t list = made->len, facts = list + 24;
	const uint32_t of_outer[3] = {1, 4, 11}, of_last[3] = {1, 4, 0};
	put_u32(made, list, 0);
	put_u32(made, list + 4, 24);
	put_u32(made, list + 8, 64);
	put_u32(made, list + 12, 24 + 80);
	put_u32(made, list + 16, 96);
	put_facts(made, is_newer, facts, outer, of_outer);
	put_facts(made, is_newer, facts + 80, last, of_last);
	made->len = facts + 160;
	const uint64_t words[8] = {2, 1, TEXT, names, units, files, values, list};
	put_header(made, is_newer, words);
	memcpy(made->inlines + (is_newer ? 4 : 12), &inner, sizeof(inner));
	CHECK(go_functions_open(made->bytes, made->len, &made->functions));
	CHECK_U64(made->functions.text, TEXT);
	made->functions.inlines = made->inlines;
	made->functions.inline_bytes = sizeof(made->inlines);
}

CASE(go_table_places, "functions, inlined ones, files and lines of both layouts")
{
	static const struct {
		uint64_t offset;
		const char *function;
		uint32_t line;
		bool is_inlined;
	} expected[] = {{0, "main.outer", 10, false}, {15, "main.outer", 10, false},
		{16, "main.inner", 20, true}, {31, "main.inner", 20, true},
		{32, "main.outer", 11, false}, {63, "main.outer", 11, false},
		{64, "main.last", 10, false}, {95, "main.last", 20, false}};
	for (int is_newer = 0; is_newer < 2; is_newer++) {
		struct made_table made;
		table_make(&made, is_newer);
		for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
			struct go_place place;
			CHECK(go_functions_find(
				&made.functions, TEXT + expected[i].offset, &place));
			CHECK_STR(place.function, expected[i].function);
			CHECK_STR(place.file, "/src/main.go");
			CHECK_U64(place.line, expected[i].line);
			CHECK(place.is_inlined == expected[i].is_inlined);
			CHECK_U64(place.entry, TEXT + (expected[i].offset < 64 ? 0 : 64));
		}
	}
}

CASE(go_table_outside, "addresses outside of all functions, and names")
{
	struct made_table made;
	struct go_place place;
	uint64_t start, end;
	table_make(&made, true);
	CHECK(!go_functions_find(&made.functions, TEXT - 1, &place));
	CHECK(!go_functions_find(&made.functions, TEXT + 96, &place));
	CHECK(!go_functions_find(&made.functions, 0, &place));
	CHECK(go_functions_named(&made.functions, "main.last", &start, &end));
	CHECK_U64(start, TEXT + 64);
	CHECK_U64(end, TEXT + 96);
	CHECK(!go_functions_named(&made.functions, "main.las", &start, &end));
}

CASE(go_table_damaged, "a table that is cut or changed at any place is read within its bounds")
{
	for (int is_newer = 0; is_newer < 2; is_newer++) {
		struct made_table made;
		table_make(&made, is_newer);
		for (size_t at = 0; at < made.len; at++) {
			/* Of exactly that size, for the address sanitizer. */
			uint8_t *copy = malloc(made.len);
			CHECK(copy != NULL);
			memcpy(copy, made.bytes, made.len);
			copy[at] ^= 0xff;
			for (int is_cut = 0; is_cut < 2; is_cut++) {
				struct go_functions functions;
				struct go_place place;
				if (!go_functions_open(copy, is_cut ? at : made.len, &functions))
					continue;
				functions.inlines = made.inlines;
				functions.inline_bytes = sizeof(made.inlines);
				for (uint64_t i = 0; i < 97; i++)
					(void)go_functions_find(&functions, TEXT + i, &place);
			}
			free(copy);
		}
	}
}

CASE(go_table_older, "tables of Go 1.17 and before, of other pointers or other machines are none")
{
	struct made_table made;
	struct go_functions functions;
	table_make(&made, false);
	static const struct {
		size_t at;
		uint8_t value;
	} others[] = {{0, 0xfa}, {0, 0xfb}, {4, 1}, {6, 4}, {7, 4}};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		uint8_t copy[TABLE_BYTES];
		memcpy(copy, made.bytes, sizeof(copy));
		copy[others[i].at] = others[i].value;
		CHECK(!go_functions_open(copy, made.len, &functions));
	}
}

#define IMAGE 0x7000ull
#define WORDS 512u

/* Memory that is made: words from IMAGE on. */
struct made_memory {
	uint64_t words[WORDS];
	size_t len;       /* in words */
	uint64_t flicker; /* address of a word that differs each time; 0: none */
	uint64_t grows;   /* address of figures to which a block of 100 bytes is added each time */
	uint64_t reads;
};

static size_t made_read(void *context, uint64_t address, void *ret, size_t bytes)
{
	struct made_memory *memory = context;
	uint64_t end = IMAGE + memory->len * 8;
	if (address < IMAGE || address >= end)
		return 0;
	size_t got = end - address < bytes ? (size_t)(end - address) : bytes;
	if (memory->flicker)
		memory->words[(memory->flicker - IMAGE) / 8] = 100 + memory->reads++;
	if (memory->grows) {
		memory->words[(memory->grows - IMAGE) / 8]++;
		memory->words[(memory->grows - IMAGE) / 8 + 2] += 100;
	}
	memcpy(ret, (char *)memory->words + (address - IMAGE), got);
	return got;
}

/* Bob Jenkins' one-at-a-time hash, over words, as Go's runtime has it. */
static uint64_t hash_step(uint64_t hash, uint64_t word)
{
	hash += word;
	hash += hash << 10;
	return hash ^ hash >> 6;
}

/* Adds a bucket of two frames, before `next`; returns its address. */
static uint64_t put_bucket(
	struct made_memory *memory, uint64_t next, uint64_t size, const uint64_t figures[static 16])
{
	uint64_t hash = hash_step(hash_step(hash_step(0, TEXT), TEXT + size), size);
	hash += hash << 3;
	hash ^= hash >> 11;
	const uint64_t head[] = {0, next, 1, hash, size, 2, TEXT, TEXT + size};
	uint64_t address = IMAGE + memory->len * 8;
	memcpy(memory->words + memory->len, head, sizeof(head));
	memcpy(memory->words + memory->len + 8, figures, 16 * 8);
	memory->len += 24;
	return address;
}

/* Published 10 of which 4 were freed; in cycles to come 1 and 2 more, and 3 freed. */
static const uint64_t some_figures[16] = {
	10, 4, 1000, 400, 1, 0, 100, 0, 2, 3, 200, 300, 0, 0, 0, 0};

CASE(go_buckets_list, "a list of buckets: the state published, and that of now")
{
	struct made_memory made = {.len = 0};
	const struct go_memory memory = {made_read, &made};
	struct go_buckets buckets;
	uint64_t last = put_bucket(&made, 0, 100, some_figures);
	uint64_t first = put_bucket(&made, last, 200, some_figures);
	CHECK(go_bucket_recognise(&memory, first));
	CHECK(!go_bucket_recognise(&memory, first + 8));
	CHECK(!go_bucket_recognise(&memory, 0));
	CHECK_OK(go_buckets_read(&memory, first, "x", &buckets));
	CHECK_U64(buckets.buckets.len, 2);
	CHECK_U64(buckets.unsettled, 0);
	const struct go_bucket *bucket = &buckets.buckets.data[0];
	CHECK_U64(bucket->size, 200);
	CHECK_U64(bucket->frame_count, 2);
	CHECK_U64(buckets.frames.data[bucket->first_frame + 1], TEXT + 200);
	CHECK_U64(bucket->published.allocations, 10);
	CHECK_U64(bucket->published.freed_bytes, 400);
	CHECK_U64(bucket->now.allocations, 13);
	CHECK_U64(bucket->now.frees, 7);
	CHECK_U64(bucket->now.allocated_bytes, 1300);
	CHECK_U64(bucket->now.freed_bytes, 700);
	go_buckets_deinit(&buckets);
	CHECK_OK(go_buckets_read(&memory, 0, "x", &buckets));
	CHECK_U64(buckets.buckets.len, 0);
	go_buckets_deinit(&buckets);
}

/* What is wrong in a list whose first bucket has `value` at a word. */
static void check_refused(size_t word, uint64_t value, const char *words)
{
	struct made_memory made = {.len = 0};
	const struct go_memory memory = {made_read, &made};
	struct go_buckets buckets;
	uint64_t first = put_bucket(&made, 0, 100, some_figures);
	made.words[word] = value;
	struct error *error = go_buckets_read(&memory, first, "x", &buckets);
	CHECK(error && strstr(error->message, words));
	CHECK_U64(buckets.buckets.len, 0);
	error_destroy(error);
}

CASE(go_buckets_refused, "what is no list of buckets of this layout is refused")
{
	check_refused(1, IMAGE, "leads back");
	check_refused(1, IMAGE + 4, "can't be read");
	check_refused(1, 16, "can't be read");
	check_refused(2, 2, "its type");
	check_refused(3, 12345, "its hash");
	check_refused(4, 101, "its hash");
	check_refused(5, 1025, "more frames");
	check_refused(5, 1000, "can't be read");
	check_refused(5, 1, "its hash");
	check_refused(6, TEXT + 1, "its hash");
}

CASE(go_buckets_circle, "a list that leads back to a bucket after some others ends")
{
	struct made_memory made = {.len = 0};
	const struct go_memory memory = {made_read, &made};
	struct go_buckets buckets;
	uint64_t next = 0;
	for (uint64_t i = 0; i < 20; i++)
		next = put_bucket(&made, next, 100 + i, some_figures);
	made.words[1] = IMAGE + 24 * 8 * 13; /* the last one's next */
	struct error *error = go_buckets_read(&memory, next, "x", &buckets);
	CHECK(error && strstr(error->message, "leads back"));
	error_destroy(error);
}

CASE(go_buckets_unsettled,
	"figures that change all the time, or contradict each other, are counted")
{
	struct made_memory made = {.len = 0};
	const struct go_memory memory = {made_read, &made};
	struct go_buckets buckets;
	uint64_t first = put_bucket(&made, 0, 100, some_figures);
	made.flicker = first + 8 * 8;
	CHECK_OK(go_buckets_read(&memory, first, "x", &buckets));
	CHECK_U64(buckets.buckets.len, 1);
	CHECK_U64(buckets.unsettled, 1);
	go_buckets_deinit(&buckets);
	made.flicker = 0;
	made.words[8] = 1; /* fewer allocations than frees */
	CHECK_OK(go_buckets_read(&memory, first, "x", &buckets));
	CHECK_U64(buckets.buckets.len, 0);
	CHECK_U64(buckets.unsettled, 1);
	go_buckets_deinit(&buckets);
}

CASE(go_buckets_growing, "figures of a stack that allocates all the time are those of one moment")
{
	struct made_memory made = {.len = 0};
	const struct go_memory memory = {made_read, &made};
	struct go_buckets buckets;
	uint64_t first = put_bucket(&made, 0, 100, some_figures);
	made.grows = first + 8 * 8 + 2 * 32;
	CHECK_OK(go_buckets_read(&memory, first, "x", &buckets));
	CHECK_U64(buckets.unsettled, 0);
	const struct go_figures *now = &buckets.buckets.data[0].now;
	CHECK(now->allocations > 13);
	CHECK_U64(now->allocated_bytes, now->allocations * 100);
	go_buckets_deinit(&buckets);
	made.grows = first + 8 * 8; /* those published change: cycles are moved */
	CHECK_OK(go_buckets_read(&memory, first, "x", &buckets));
	CHECK_U64(buckets.unsettled, 1);
	go_buckets_deinit(&buckets);
}

CASE(go_estimates, "blocks are estimated by the chance that one of their size is sampled")
{
	uint64_t blocks, bytes;
	go_figures_estimate(7, 700, 1, &blocks, &bytes);
	CHECK(blocks == 7 && bytes == 700);
	go_figures_estimate(7, 700, 0, &blocks, &bytes);
	CHECK(blocks == 7 && bytes == 700);
	go_figures_estimate(0, 0, 512, &blocks, &bytes);
	CHECK(blocks == 0 && bytes == 0);
	double scale = 1 / (1 - exp(-100.0 / 512));
	go_figures_estimate(7, 700, 512, &blocks, &bytes);
	CHECK_U64(blocks, (uint64_t)(7 * scale));
	CHECK_U64(bytes, (uint64_t)(700 * scale));
}

CASE(go_code_references, "words that code reads, and of which it takes the address")
{
	static const uint8_t code[] = {0x48, 0x8b, 0x0d, 0x01, 0x01, 0, 0, /* mov rcx, [+0x101] */
		0x4c, 0x8d, 0x05, 0xfa, 0, 0, 0,                           /* lea r8, [+0xfa] */
		0x48, 0x83, 0x3d, 0xf2, 0, 0, 0, 5,                        /* cmp [+0xf2], 5 */
		0x8b, 0x0d, 0, 0, 0, 0};                                   /* of 4 bytes */
	_cleanup_(go_reference_vec_deinit) struct go_reference_vec loads = {.len = 0},
								   addresses = {.len = 0};
	CHECK(go_references_find(code, sizeof(code), 0x1000, GO_REFERENCE_LOAD, &loads));
	CHECK(go_references_find(code, sizeof(code), 0x1000, GO_REFERENCE_ADDRESS, &addresses));
	CHECK_U64(loads.len, 1);
	CHECK_U64(loads.data[0], 0x1108);
	CHECK_U64(addresses.len, 1);
	CHECK_U64(addresses.data[0], 0x1108);
	CHECK(go_references_find(code + 14, 8, 0x100e, GO_REFERENCE_LOAD, &addresses));
	go_references_common(&loads, &addresses);
	CHECK_U64(loads.len, 1);
	addresses.len = 0;
	go_references_common(&loads, &addresses);
	CHECK_U64(loads.len, 0);
	CHECK(go_references_find(code, 6, 0x1000, GO_REFERENCE_LOAD, &loads));
	CHECK_U64(loads.len, 0);
}

TAP_MAIN
