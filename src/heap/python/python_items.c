/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Items of Python's containers (Include/cpython/listobject.h, tupleobject.h, setobject.h,
 * dictobject.h, Objects/dict-common.h, Include/internal/pycore_dict.h). */
#include <string.h>

#include "heap/python_content.h"

#define NOWHERE UINT32_MAX
#define COUNT_MAX (1ull << 32)

/* Words of objects. */
#define SEQUENCE_COUNT 2u
#define SEQUENCE_ITEMS 3u
#define SET_USED 3u
#define SET_MASK 4u
#define SET_TABLE 5u
#define DICT_USED 2u
#define DICT_KEYS 4u
#define DICT_VALUES 5u
/* Python 2. */
#define OLD_DICT_USED 3u
#define OLD_DICT_MASK 4u
#define OLD_DICT_TABLE 5u
#define OBJECT_WORDS 6u

static bool begin_sequence(struct python_items *i, const uint64_t *words, bool is_list)
{
	i->count = i->left = words[SEQUENCE_COUNT];
	i->at = is_list ? words[SEQUENCE_ITEMS] : i->object + 8ul * SEQUENCE_ITEMS;
	i->step = 8;
	return i->count < COUNT_MAX;
}

/* Which of a place's two words is the key differs by version: that which is an object. */
static bool begin_set(struct python_items *i, const uint64_t *words)
{
	uint64_t pair[2];
	i->count = words[SET_USED];
	i->left = words[SET_MASK] + 1;
	i->at = words[SET_TABLE];
	i->step = sizeof(pair);
	i->hash = 8;
	for (uint64_t at = i->at, n = 0; n < i->left && n < COUNT_MAX; n++, at += i->step) {
		if (address_space_read(i->python->space, at, pair, sizeof(pair)) != sizeof(pair))
			break;
		/* Nothing is there, or what was removed. */
		if ((!pair[0] && !pair[1]) || pair[0] == UINT64_MAX || pair[1] == UINT64_MAX)
			continue;
		if (!python_type_of(i->python, pair[0]))
			i->key = 8, i->hash = 0;
		break;
	}
	return i->left <= COUNT_MAX && i->count <= i->left;
}

/* The table of keys of 3.11 and later: sizes as powers of two, by bytes of the second word. */
static bool begin_dict_new(struct python_items *i, const uint64_t *keys, uint64_t at)
{
	unsigned size = keys[1] & 0xff, index_bytes = keys[1] >> 8 & 0xff;
	unsigned kind = keys[1] >> 16 & 0xff;
	if (size > 32 || index_bytes > 40 || index_bytes < size || kind > 2 ||
		keys[2] > 1ull << size || keys[3] > 1ull << size)
		return false;
	i->left = keys[3];
	i->at = at + 32 + (1ull << index_bytes);
	/* Keys that are all text need no hash. */
	i->step = kind ? 16 : 24;
	i->key = kind ? 0 : 8;
	i->value = i->key + 8;
	return true;
}

/* Of 3.6 to 3.10. */
static bool begin_dict_middle(struct python_items *i, const uint64_t *keys, uint64_t at)
{
	uint64_t size = keys[1];
	if (!size || size & (size - 1) || size > COUNT_MAX || keys[4] > size)
		return false;
	unsigned width = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
	i->left = keys[4];
	i->at = at + 40 + size * width;
	i->step = 24;
	i->key = 8;
	i->value = 16;
	return true;
}

static bool begin_dict_old(struct python_items *i, const uint64_t *words)
{
	i->count = words[OLD_DICT_USED];
	i->left = words[OLD_DICT_MASK] + 1;
	i->at = words[OLD_DICT_TABLE];
	i->step = 24;
	i->key = 8;
	i->value = 16;
	return i->left <= COUNT_MAX && i->count <= i->left && !(i->left & (i->left - 1));
}

/* From 3.13 on values begin with bytes that say how many there is room for, how many there are, and
 * whether they are part of an object (0 or 1); the five after these may be anything. */
static bool begins_with_counts(struct python *python, uint64_t first)
{
	uint8_t room = (uint8_t)first, count = (uint8_t)(first >> 8);
	uint8_t is_part = (uint8_t)(first >> 16);
	return room && room <= PYTHON_SHARED_KEYS && count <= room && is_part <= 1 &&
	       !python_type_of(python, first);
}

/*
 * In which order the items of a dict with shared keys were set, from 3.11 on: numbers of keys, with
 * 3.13 after the values that there is `room` for, else (`room` is 0) before the values, backwards.
 * What makes no sense is passed over: then the order is that of the keys.
 */
static void read_order(struct python_items *i, unsigned room)
{
	uint8_t bytes[PYTHON_SHARED_KEYS + 2];
	size_t count = (size_t)i->count, before = count + 2;
	uint64_t at = room ? i->values + 8ull * room : i->values - before;
	size_t wanted = room ? count : before;
	uint32_t seen = 0;
	if (i->count > PYTHON_SHARED_KEYS || (room && count > room) ||
		address_space_read(i->python->space, at, bytes, wanted) != wanted ||
		(!room && bytes[count] != count))
		return;
	for (size_t n = 0; n < count; n++) {
		uint8_t number = room ? bytes[n] : bytes[count - 1 - n];
		if (number >= i->left || number >= PYTHON_SHARED_KEYS || seen >> number & 1)
			return;
		seen |= 1u << number;
		i->order[n] = number;
	}
	i->ordered = (uint8_t)count;
}

static bool begin_dict(struct python_items *i, const uint64_t *words)
{
	uint64_t keys[5], first;
	const struct address_space *space = i->python->space;
	i->has_values = true;
	i->count = words[DICT_USED];
	if (address_space_read(space, words[DICT_KEYS], keys, sizeof(keys)) != sizeof(keys))
		return begin_dict_old(i, words);
	bool is_new = begin_dict_new(i, keys, words[DICT_KEYS]);
	if (!is_new && !begin_dict_middle(i, keys, words[DICT_KEYS]))
		return begin_dict_old(i, words);
	i->values = words[DICT_VALUES];
	if (!i->values)
		return true;
	if (!address_space_word(space, i->values, &first))
		return false;
	bool is_counted = begins_with_counts(i->python, first);
	if (is_counted)
		i->values += 8;
	if (is_new)
		read_order(i, is_counted ? (uint8_t)first : 0);
	return true;
}

bool python_items_begin(struct python *python, uint64_t object, const struct python_type *type,
	struct python_items *ret)
{
	uint64_t words[OBJECT_WORDS] = {0}, address = type->address, flags = type->flags;
	*ret = (struct python_items){
		.python = python, .object = object, .value = NOWHERE, .hash = NOWHERE};
	/* A tuple may end before. */
	size_t got = address_space_read(python->space, object, words, sizeof(words));
	if (got < 8ul * SEQUENCE_ITEMS)
		return false;
	if (flags & (PYTHON_FLAG_LIST | PYTHON_FLAG_TUPLE))
		return begin_sequence(ret, words, flags & PYTHON_FLAG_LIST);
	if (got < sizeof(words))
		return false;
	if (flags & PYTHON_FLAG_DICT)
		return begin_dict(ret, words);
	return (python_type_is(python, address, "set") ||
		       python_type_is(python, address, "frozenset")) &&
	       begin_set(ret, words);
}

/* The next item in the dict's own order. */
static bool next_ordered(struct python_items *i, uint64_t *ret_key, uint64_t *ret_value)
{
	if (i->next == i->ordered)
		return false;
	uint64_t number = i->order[i->next++];
	const struct address_space *space = i->python->space;
	i->unread = !address_space_word(space, i->at + number * i->step + i->key, ret_key) ||
		    !address_space_word(space, i->values + 8 * number, ret_value);
	return !i->unread;
}

bool python_items_next(struct python_items *i, uint64_t *ret_key, uint64_t *ret_value)
{
	const struct address_space *space = i->python->space;
	*ret_value = 0;
	if (i->ordered)
		return next_ordered(i, ret_key, ret_value);
	while (i->left) {
		uint64_t place[3] = {0};
		i->unread = address_space_read(space, i->at, place, i->step) != i->step;
		if (i->unread)
			return false;
		i->left--;
		i->at += i->step;
		*ret_key = place[i->key / 8];
		if (i->has_values)
			*ret_value = place[i->value / 8];
		if (i->values) {
			i->unread = !address_space_word(space, i->values, ret_value);
			if (i->unread)
				return false;
			i->values += 8;
		}
		/* Where something was, it is not any more. */
		bool gone = i->hash != NOWHERE && place[i->hash / 8] == UINT64_MAX;
		if (i->step == 8 || (*ret_key && !gone && (!i->has_values || *ret_value)))
			return true;
	}
	return false;
}
