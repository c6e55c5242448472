/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See suppress.h: the set itself. */
#include "analysis/suppress.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/leaks/suppress_impl.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "symbols/name.h"

uint64_t suppress_text_hash(struct suppress_text text)
{
	return hash_bytes(text.text, text.len) ^ hash_u64((uint64_t)text.what + 1);
}

bool suppress_text_equal(struct suppress_text a, struct suppress_text b)
{
	return a.what == b.what && a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

struct error *suppressions_create(struct suppressions **ret)
{
	struct suppressions *set = calloc(1, sizeof(*set));
	if (!set)
		return error_no_memory();
	arena_init(&set->arena);
	arena_init(&set->names);
	*ret = set;
	return NULL;
}

void suppressions_destroy(struct suppressions *set)
{
	if (!set)
		return;
	suppressions_unprepare(set);
	suppress_entry_vec_deinit(&set->entries);
	suppress_line_vec_deinit(&set->lines);
	suppress_pattern_vec_deinit(&set->patterns);
	suppress_pattern_map_deinit(&set->pattern_by_text);
	suppress_pattern_map_deinit(&set->mangled_by_whole);
	arena_deinit(&set->arena);
	arena_deinit(&set->names);
	free(set);
}

static struct suppress_pattern pattern_of(struct suppress_text text)
{
	struct suppress_pattern pattern = {
		.text = text, .stem = text.len, .next_mangled = SUPPRESS_NO_PATTERN};
	const char *at = NULL;
	if (text.what == WHAT_FUNCTION && text.len)
		at = memchr(text.text + 1, '@', text.len - 1);
	if (at)
		pattern.stem = (uint32_t)(at - text.text);
	bool any = text.what == WHAT_ANY;
	pattern.literal = !any && !at && !memchr(text.text, '*', text.len) &&
			  !memchr(text.text, '?', text.len);
	pattern.everything = !any && text.len && strspn(text.text, "*") == text.len;
	return pattern;
}

/* Finds the pattern of a mangled name by what it stands for, too: files of checkers have C++ names
 * with their parameters instead. Several names (constructors') may stand for the same. */
static struct error *intern_whole(struct suppressions *set, uint32_t id)
{
	struct suppress_pattern *pattern = &set->patterns.data[id];
	if (pattern->text.what != WHAT_FUNCTION || !pattern->literal ||
		!name_is_mangled(pattern->text.text))
		return NULL;
	_cleanup_(text_deinit) struct text whole;
	text_init(&whole);
	name_add_whole(&whole, pattern->text.text);
	if (whole.failed)
		return error_no_memory();
	struct suppress_text key = {.text = arena_strndup(&set->arena, whole.data, whole.len),
		.len = (uint32_t)whole.len,
		.what = WHAT_FUNCTION};
	bool is_new;
	uint32_t *place =
		key.text ? suppress_pattern_map_insert(&set->mangled_by_whole, key, &is_new) : NULL;
	if (!place)
		return error_no_memory();
	pattern->next_mangled = is_new ? SUPPRESS_NO_PATTERN : *place;
	*place = id;
	return NULL;
}

struct error *suppressions_intern(struct suppressions *set, enum suppress_what what,
	const char *text, size_t len, uint32_t *ret)
{
	struct suppress_text key = {.text = text, .len = (uint32_t)len, .what = what};
	const uint32_t *known = suppress_pattern_map_find(&set->pattern_by_text, key);
	if (known) {
		*ret = *known;
		return NULL;
	}
	key.text = arena_strndup(&set->arena, text, len);
	if (!key.text || !suppress_pattern_vec_push(&set->patterns, pattern_of(key)))
		return error_no_memory();
	uint32_t id = (uint32_t)set->patterns.len - 1;
	uint32_t *place = suppress_pattern_map_insert(&set->pattern_by_text, key, NULL);
	if (!place)
		return error_no_memory();
	*place = *ret = id;
	return intern_whole(set, id);
}

void suppressions_limit_lines(struct suppressions *set, unsigned lines)
{
	set->line_limit = lines;
	set->is_prepared = false;
}

uint32_t suppress_entry_lines(const struct suppressions *set, const struct suppress_entry *entry)
{
	if (set->line_limit && set->line_limit < entry->count)
		return set->line_limit;
	return entry->count;
}

void suppressions_use(struct suppressions *set, uint32_t id, uint64_t blocks, uint64_t bytes)
{
	assert(id < set->entries.len);
	struct suppression *shown = &set->entries.data[id].shown;
	shown->records++;
	shown->blocks += blocks;
	shown->bytes += bytes;
}

void suppressions_use_error(struct suppressions *set, uint32_t id, uint64_t count)
{
	assert(id < set->entries.len);
	struct suppression *shown = &set->entries.data[id].shown;
	shown->records++;
	if (__builtin_add_overflow(shown->errors, count, &shown->errors))
		shown->errors = UINT64_MAX;
}

size_t suppressions_count(const struct suppressions *set)
{
	return set->entries.len;
}

const struct suppression *suppressions_get(const struct suppressions *set, uint32_t id)
{
	assert(id < set->entries.len);
	return &set->entries.data[id].shown;
}

size_t suppressions_passed_over(const struct suppressions *set)
{
	return set->passed_over;
}

struct suppress_effort suppressions_effort(const struct suppressions *set)
{
	return set->effort;
}

const char *suppress_kind_name(enum suppress_kind kind)
{
	static const char *const names[SUPPRESS_KINDS] = {
		[SUPPRESS_DEFINITE] = "definite",
		[SUPPRESS_INDIRECT] = "indirect",
		[SUPPRESS_POSSIBLE] = "possible",
		[SUPPRESS_REACHABLE] = "reachable",
	};
	assert((unsigned)kind < SUPPRESS_KINDS);
	return names[kind];
}
