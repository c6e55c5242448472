/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see codes.h. May touch: the same. */
#include "runtime/python/codes.h"

#define KIND_SHIFT 2
#define KIND_MASK 7u
#define IS_COMPACT (1u << 5)
#define IS_ASCII (1u << 6)

bool rt_codes_open(struct rt_codes *codes, void *base)
{
	struct hw_shm *shm = base;
	uint32_t state = HW_LINES_UNUSED;
	if (!__atomic_compare_exchange_n(&shm->codes_state, &state, HW_LINES_USED, false,
		    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) &&
		state != HW_LINES_USED)
		return false;
	codes->shm = shm;
	codes->index = (uint32_t *)((char *)base + HW_SHM_CODE_INDEX);
	codes->bytes = (char *)base + HW_SHM_CODE_BYTES;
	uint32_t none = 0;
	__atomic_compare_exchange_n(
		&shm->codes, &none, RT_CODE_FULL + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	/* Release: who reads it finds the rest. */
	__atomic_store_n(
		&codes->rows, (struct hw_code *)((char *)base + HW_SHM_CODES), __ATOMIC_RELEASE);
	return true;
}

bool rt_codes_close(struct hw_shm *shm)
{
	uint32_t state = HW_LINES_UNUSED;
	return __atomic_compare_exchange_n(&shm->codes_state, &state, HW_LINES_CLOSED, false,
		       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
	       state == HW_LINES_CLOSED;
}

static inline uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)address;
}

static inline uint32_t half_at(uint64_t address)
{
	return *(const uint32_t *)address;
}

/* What a row is known by. */
struct key {
	uint64_t words[5];
};

static struct key key_of(const struct rt_python_layout *layout, uint64_t code)
{
	return (struct key){{code, word_at(code + layout->name), word_at(code + layout->file),
		word_at(code + layout->lines), half_at(code + layout->first_line)}};
}

static bool has_key(const struct hw_code *row, const struct key *key)
{
	bool same = true;
	for (unsigned i = 0; i < 5; i++)
		same &= row->key[i] == key->words[i];
	return same;
}

/* The place of the index where the search for a code begins, and how many it goes on for. */
#define SEARCH_MAX 256u
static uint32_t first_place(uint64_t code)
{
	/* The upper 18 bits, of which the index takes as many as it has places. */
	return (uint32_t)((code >> 4) * 0x9e3779b97f4a7c15ull >> 46) % HW_CODE_INDEX;
}

/* Returns the row with that key, or 0; *ret_place: the first empty place, or HW_CODE_INDEX. */
static uint32_t find_row(const struct rt_codes *codes, const struct key *key, uint32_t *ret_place)
{
	uint32_t place = first_place(key->words[0]);
	for (uint32_t tries = 0; tries < SEARCH_MAX; tries++) {
		uint32_t at = (place + tries) % HW_CODE_INDEX;
		uint32_t row = __atomic_load_n(&codes->index[at], __ATOMIC_ACQUIRE);
		*ret_place = at;
		if (!row || has_key(&codes->rows[row], key))
			return row;
	}
	*ret_place = HW_CODE_INDEX;
	return 0;
}

/* The row's code has been freed: no key is like this one. */
#define DEAD (1ull << 63)

bool rt_codes_died(struct rt_codes *codes, uint64_t code)
{
	bool found = false;
	uint32_t place = first_place(code);
	for (uint32_t tries = 0; tries < SEARCH_MAX; tries++) {
		uint32_t row = __atomic_load_n(
			&codes->index[(place + tries) % HW_CODE_INDEX], __ATOMIC_ACQUIRE);
		if (!row)
			break;
		if (codes->rows[row].key[0] != code || codes->rows[row].key[4] & DEAD)
			continue;
		codes->rows[row].key[4] |= DEAD;
		found = true;
	}
	return found;
}

/* Takes `bytes` of the texts. Returns false if there is no room. */
static bool take_bytes(struct rt_codes *codes, uint32_t bytes, struct hw_code_part *ret)
{
	uint32_t used = codes->shm->code_bytes;
	if (bytes > HW_CODE_BYTES - used)
		return false;
	*ret = (struct hw_code_part){used, bytes};
	codes->shm->code_bytes = used + bytes;
	return true;
}

static uint32_t utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | (c >> 18 & 7));
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static uint32_t character_at(uint64_t data, uint32_t kind, uint64_t i)
{
	if (kind == 1)
		return ((const uint8_t *)data)[i];
	return kind == 2 ? ((const uint16_t *)data)[i] : ((const uint32_t *)data)[i];
}

/* Copies a str as UTF-8, its beginning if it is long. Returns false if there is no room. */
static bool copy_text(struct rt_codes *codes, const struct rt_python_layout *layout, uint64_t text,
	struct hw_code_part *ret)
{
	uint64_t length = word_at(text + RT_PYTHON_SIZE);
	uint32_t state = half_at(text + RT_PYTHON_STATE), kind = state >> KIND_SHIFT & KIND_MASK;
	uint64_t data = text + (state & IS_ASCII ? layout->ascii : layout->compact);
	char *to = codes->bytes + codes->shm->code_bytes;
	*ret = (struct hw_code_part){0, 0};
	if (!(state & IS_COMPACT) || (kind != 1 && kind != 2 && kind != 4))
		return true;
	if (HW_CODE_BYTES - codes->shm->code_bytes < HW_CODE_TEXT_MAX)
		return false;
	uint32_t bytes = 0;
	for (uint64_t i = 0; i < length && bytes + 4 <= HW_CODE_TEXT_MAX; i++)
		bytes += utf8_put(to + bytes, character_at(data, kind, i));
	return take_bytes(codes, bytes, ret);
}

static bool same_bytes(const char *a, const char *b, uint32_t bytes)
{
	uint32_t i = 0;
	while (i < bytes && a[i] == b[i])
		i++;
	return i == bytes;
}

/* The file of the row before is most often that of this one, too: its text is there already. */
static void share_file(struct rt_codes *codes, uint32_t row)
{
	struct hw_code_part *file = &codes->rows[row].file;
	const struct hw_code_part *before = &codes->rows[row - 1].file;
	if (before->bytes != file->bytes || !same_bytes(codes->bytes + before->offset,
						    codes->bytes + file->offset, file->bytes))
		return;
	codes->shm->code_bytes = file->offset;
	*file = *before;
}

static bool copy_lines(struct rt_codes *codes, uint64_t object, struct hw_code *row)
{
	uint64_t bytes = word_at(object + RT_PYTHON_SIZE);
	if (bytes > HW_CODE_TABLE_MAX) {
		row->table = HW_LINES_NONE;
		return true;
	}
	if (!take_bytes(codes, (uint32_t)bytes, &row->lines))
		return false;
	const char *from = (const char *)(object + RT_PYTHON_BYTES);
	for (uint32_t i = 0; i < bytes; i++)
		codes->bytes[row->lines.offset + i] = from[i];
	return true;
}

static bool fill_row(struct rt_codes *codes, const struct rt_python_layout *layout,
	const struct key *key, uint32_t number)
{
	struct hw_code *row = &codes->rows[number];
	for (unsigned i = 0; i < 5; i++)
		row->key[i] = key->words[i];
	row->first_line = (uint32_t)key->words[4];
	row->table = layout->table;
	if (!copy_text(codes, layout, key->words[2], &row->file))
		return false;
	share_file(codes, number);
	return copy_text(codes, layout, key->words[1], &row->name) &&
	       copy_lines(codes, key->words[3], row);
}

static bool same_part(const struct rt_codes *codes, struct hw_code_part a, struct hw_code_part b)
{
	return a.bytes == b.bytes &&
	       same_bytes(codes->bytes + a.offset, codes->bytes + b.offset, a.bytes);
}

/*
 * Code that is compiled again and again, as by exec(), comes to the same address as a rule: returns
 * the row of such code before that is the same as the new row `number`, which takes its key over;
 * 0: there is none.
 */
static uint32_t revive_row(struct rt_codes *codes, const struct key *key, uint32_t number)
{
	const struct hw_code *made = &codes->rows[number];
	uint32_t place = first_place(key->words[0]);
	for (uint32_t tries = 0; tries < SEARCH_MAX; tries++) {
		uint32_t row = codes->index[(place + tries) % HW_CODE_INDEX];
		struct hw_code *before = &codes->rows[row];
		if (!row)
			break;
		if (before->key[0] != key->words[0] || !(before->key[4] & DEAD) ||
			before->first_line != made->first_line ||
			!same_part(codes, before->name, made->name) ||
			!same_part(codes, before->file, made->file) ||
			!same_part(codes, before->lines, made->lines))
			continue;
		for (unsigned i = 1; i < 5; i++)
			before->key[i] = key->words[i];
		return row;
	}
	return 0;
}

/* The lock is held. */
static uint32_t add_row(
	struct rt_codes *codes, const struct rt_python_layout *layout, const struct key *key)
{
	uint32_t place, row = find_row(codes, key, &place);
	if (row)
		return row;
	row = codes->shm->codes;
	uint32_t bytes_before = codes->shm->code_bytes;
	if (row >= HW_CODES_MAX || place == HW_CODE_INDEX || !fill_row(codes, layout, key, row)) {
		__atomic_fetch_add(&codes->shm->codes_full, 1, __ATOMIC_RELAXED);
		return RT_CODE_FULL;
	}
	uint32_t revived = revive_row(codes, key, row);
	if (revived) {
		codes->shm->code_bytes = bytes_before;
		return revived;
	}
	uint64_t bit, *word = rt_code_filter_word(codes, key->words[0], &bit);
	__atomic_store_n(word, *word | bit, __ATOMIC_RELAXED);
	__atomic_store_n(&codes->shm->codes, row + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&codes->index[place], row, __ATOMIC_RELEASE);
	return row;
}

uint32_t rt_codes_row(struct rt_codes *codes, const struct rt_python_layout *layout, uint64_t code)
{
	struct key key = key_of(layout, code);
	uint32_t place, row = find_row(codes, &key, &place);
	if (row || !rt_lock_try(&codes->lock))
		return row;
	row = add_row(codes, layout, &key);
	rt_unlock(&codes->lock);
	return row;
}
