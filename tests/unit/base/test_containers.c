/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/hash_index.h"
#include "base/map.h"
#include "base/util.h"
#include "base/vec.h"
#include "lib/tap.h"

DEFINE_VEC(id_vec, uint32_t)

struct huge {
	char bytes[1 << 20];
};

DEFINE_VEC(huge_vec, struct huge)

static inline bool equal_u64(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(id_map, uint64_t, uint32_t, hash_u64, equal_u64)

/* Few homes: long runs of probes, as removal must keep whole. */
static inline uint64_t hash_badly(uint64_t key)
{
	return key % 3 + 14;
}

DEFINE_MAP(bad_map, uint64_t, uint64_t, hash_badly, equal_u64)

static inline uint64_t hash_string(const char *string)
{
	return hash_bytes(string, strlen(string));
}

static inline bool equal_string(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

DEFINE_MAP(name_map, const char *, int, hash_string, equal_string)

CASE(vec_keeps, "a vector grows and keeps its elements")
{
	_cleanup_(id_vec_deinit) struct id_vec ids;
	id_vec_init(&ids);
	CHECK(!ids.data && ids.len == 0);
	for (uint32_t i = 0; i < 10000; i++)
		CHECK(id_vec_push(&ids, i * 7));
	uint32_t *last = id_vec_push_uninit(&ids);
	CHECK(last == &ids.data[10000]);
	*last = 5;
	for (uint32_t i = 0; i < 10000; i++)
		CHECK_U64(ids.data[i], i * 7);
	size_t cap = ids.cap;
	id_vec_clear(&ids);
	CHECK(ids.len == 0 && ids.cap == cap);
	CHECK(id_vec_reserve(&ids, 100000) && ids.cap >= 100000);
}

CASE(vec_absurd, "a vector that cannot grow says so and stays whole")
{
	_cleanup_(huge_vec_deinit) struct huge_vec vec;
	huge_vec_init(&vec);
	CHECK(!huge_vec_reserve(&vec, SIZE_MAX / 1000));
	CHECK(!huge_vec_reserve(&vec, SIZE_MAX >> 21));
	CHECK(!vec.data && vec.cap == 0);
}

CASE(map_finds, "a map finds what was inserted and nothing else")
{
	_cleanup_(id_map_deinit) struct id_map map;
	id_map_init(&map);
	CHECK(!id_map_find(&map, 0) && !id_map_remove(&map, 0));
	for (uint64_t i = 0; i < 50000; i++) {
		bool is_new = false;
		uint32_t *value = id_map_insert(&map, i << 12, &is_new);
		CHECK(value && is_new && *value == 0);
		*value = (uint32_t)i;
	}
	CHECK_U64(map.len, 50000);
	bool is_new = true;
	CHECK_U64(*id_map_insert(&map, 77 << 12, &is_new), 77);
	CHECK(!is_new);
	for (uint64_t i = 0; i < 50000; i++) {
		CHECK_U64(*id_map_find(&map, i << 12), i);
		CHECK(!id_map_find(&map, (i << 12) + 1));
	}
}

CASE(map_each, "iteration meets each entry once")
{
	_cleanup_(id_map_deinit) struct id_map map;
	id_map_init(&map);
	uint64_t expected = 0, sum = 0, keys = 0;
	for (uint32_t i = 1; i <= 1000; i++) {
		*id_map_insert(&map, i * 3, NULL) = i;
		expected += i;
	}
	uint32_t index = 0, *value;
	for (const uint64_t *key; (value = id_map_next(&map, &index, &key));) {
		CHECK_U64(*key, *value * 3);
		sum += *value;
		keys++;
	}
	CHECK_U64(keys, 1000);
	CHECK_U64(sum, expected);
}

CASE(map_model, "random insertions and removals agree with a plain array")
{
	enum { KEYS = 60 };
	_cleanup_(bad_map_deinit) struct bad_map map;
	bad_map_init(&map);
	uint64_t truth[KEYS] = {0}, random = 1;
	for (unsigned step = 1; step < 40000; step++) {
		random = hash_u64(random + step);
		uint64_t key = random % KEYS;
		if (random >> 32 & 1) {
			*bad_map_insert(&map, key, NULL) = step;
			truth[key] = step;
		} else {
			CHECK(bad_map_remove(&map, key) == (truth[key] != 0));
			truth[key] = 0;
		}
		uint64_t *value = bad_map_find(&map, step % KEYS);
		CHECK_U64(value ? *value : 0, truth[step % KEYS]);
	}
	uint32_t live = 0;
	for (unsigned key = 0; key < KEYS; key++) {
		uint64_t *value = bad_map_find(&map, key);
		CHECK_U64(value ? *value : 0, truth[key]);
		live += truth[key] != 0;
	}
	CHECK_U64(map.len, live);
}

CASE(map_strings, "keys are compared by the given function")
{
	_cleanup_(name_map_deinit) struct name_map map;
	name_map_init(&map);
	char spelled[] = "malloc";
	*name_map_insert(&map, "malloc", NULL) = 1;
	*name_map_insert(&map, "calloc", NULL) = 2;
	CHECK_U64(*name_map_find(&map, spelled), 1);
	CHECK(name_map_remove(&map, spelled));
	CHECK(!name_map_find(&map, "malloc"));
	CHECK_U64(*name_map_find(&map, "calloc"), 2);
}

/* Finds a key among those that were put so far; UINT32_MAX: it is not there, and is put. */
static uint32_t find_or_put(struct hash_index *index, const uint64_t *keys, uint32_t next,
	uint64_t (*hash)(uint64_t key))
{
	struct hash_index_place place;
	uint32_t number;
	CHECK(hash_index_seek(index, hash(keys[next]), &place));
	while ((number = hash_index_next(index, &place)))
		if (keys[number - 1] == keys[next])
			return number - 1;
	hash_index_put(index, &place, next);
	return UINT32_MAX;
}

CASE(hash_index, "numbers are found by their keys, also where hashes agree, as it grows")
{
	enum { NUMBERS = 3000 };
	static uint64_t keys[NUMBERS + 1];
	uint64_t (*const hashes[])(uint64_t) = {hash_u64, hash_badly};
	for (size_t way = 0; way < ARRAY_SIZE(hashes); way++) {
		_cleanup_(hash_index_deinit) struct hash_index index = {.cap = 0};
		if (way)
			CHECK(hash_index_init(&index, 10));
		for (uint32_t i = 0; i < NUMBERS; i++) {
			keys[i] = 7919u * i;
			hash_index_fetch(&index, hashes[way](keys[i]));
			CHECK_U64(find_or_put(&index, keys, i, hashes[way]), UINT32_MAX);
		}
		CHECK_U64(index.len, NUMBERS);
		for (uint32_t i = 0; i < NUMBERS; i++) {
			keys[NUMBERS] = keys[i];
			CHECK_U64(find_or_put(&index, keys, NUMBERS, hashes[way]), i);
		}
	}
}

CASE(hash_index_room, "what was made for a number does not grow before it")
{
	_cleanup_(hash_index_deinit) struct hash_index index;
	CHECK(hash_index_init(&index, 1000));
	const uint64_t *slots = index.slots;
	for (uint32_t i = 0; i < 1000; i++) {
		struct hash_index_place place;
		CHECK(hash_index_seek(&index, hash_u64(i), &place));
		while (hash_index_next(&index, &place))
			;
		hash_index_put(&index, &place, i);
	}
	CHECK(index.slots == slots);
}

TAP_MAIN
