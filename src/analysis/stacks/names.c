/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pattern.h"
#include "base/cleanup.h"
#include "base/util.h"

/* Of longer names only so much is compared: templates reach thousands of bytes. */
#define NAME_BYTES_MAX 200u
#define NEAR_MAX 5u

static inline void pattern_cleanup(struct pattern **pattern)
{
	pattern_destroy(*pattern);
}

static bool is_whole(const char *name, const char *wanted)
{
	return strcmp(name, wanted) == 0;
}

static bool is_end(const char *name, const char *wanted)
{
	size_t len = strlen(name), end = strlen(wanted);
	if (len <= end || strcmp(name + len - end, wanted) != 0)
		return false;
	const char *before = name + len - end - 1;
	return *before == '/' || (*before == ':' && before > name && before[-1] == ':');
}

static size_t find_by(const struct spots *spots, const char *wanted,
	bool (*fits)(const char *name, const char *wanted), bool *ret)
{
	size_t count = 0;
	for (size_t i = 0; i < spots_count(spots); i++)
		count += ret[i] = fits(spots_at(spots, i)->name, wanted) ||
				  fits(spots_at(spots, i)->brief, wanted);
	return count;
}

size_t names_find_plain(const struct spots *spots, const char *wanted, bool *ret)
{
	size_t count = find_by(spots, wanted, is_whole, ret);
	return count ? count : find_by(spots, wanted, is_end, ret);
}

struct error *names_find(
	const struct spots *spots, const char *wanted, bool *ret, size_t *ret_count)
{
	*ret_count = names_find_plain(spots, wanted, ret);
	if (*ret_count)
		return NULL;
	_cleanup_(pattern_cleanup) struct pattern *pattern = NULL;
	struct error *error = pattern_create(wanted, &pattern);
	if (error)
		return error;
	for (size_t i = 0; i < spots_count(spots); i++)
		*ret_count += ret[i] = pattern_match(pattern, spots_at(spots, i)->name) ||
				       pattern_match(pattern, spots_at(spots, i)->brief);
	return pattern_check(pattern);
}

static size_t names_smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein's distance, of letters without case; a part of the name is nearer than that. */
static size_t names_distance(const char *name, const char *wanted)
{
	size_t row[NAME_BYTES_MAX + 1];
	size_t len = names_smaller(strlen(name), NAME_BYTES_MAX);
	if (strcasestr(name, wanted))
		return 1;
	for (size_t i = 0; i <= len; i++)
		row[i] = i;
	for (size_t k = 0; wanted[k] && k < NAME_BYTES_MAX; k++) {
		size_t diagonal = row[0];
		row[0] = k + 1;
		for (size_t i = 0; i < len; i++) {
			bool same = tolower((unsigned char)name[i]) ==
				    tolower((unsigned char)wanted[k]);
			size_t changed = diagonal + (same ? 0 : 1);
			diagonal = row[i + 1];
			row[i + 1] = names_smaller(changed, names_smaller(row[i], row[i + 1]) + 1);
		}
	}
	return row[len];
}

/* The last part of a qualified name: people leave the rest out. */
static const char *last_part(const char *name)
{
	const char *end = name;
	for (const char *at = name; *at && *at != '<' && *at != '('; at++)
		if ((at[0] == ':' || at[0] == '/') && at[1])
			end = at + 1;
	return end;
}

struct near {
	size_t distance;
	const char *name;
};

static int compare_near(const void *left, const void *right)
{
	const struct near *a = left, *b = right;
	if (a->distance != b->distance)
		return a->distance < b->distance ? -1 : 1;
	size_t x = strlen(a->name), y = strlen(b->name);
	return x != y ? (x < y ? -1 : 1) : strcmp(a->name, b->name);
}

static void add_quoted(struct text *text, bool after_others, const char *name)
{
	text_add(text, after_others ? ", '" : "'");
	text_add_shown(text, name, NAME_BYTES_MAX);
	text_add_char(text, '\'');
}

struct error *names_add_near(const struct spots *spots, const char *wanted, struct text *text)
{
	size_t count = spots_count(spots), enough = strlen(wanted) / 2 + 1;
	_cleanup_free_ struct near *near = calloc(count + 1, sizeof(*near));
	if (!near)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		const char *name = spots_at(spots, i)->brief;
		near[i] = (struct near){names_smaller(names_distance(name, wanted),
						names_distance(last_part(name), wanted)),
			name};
	}
	qsort(near, count, sizeof(*near), compare_near);
	for (size_t i = 0; i < count && i < NEAR_MAX && near[i].distance <= enough; i++)
		add_quoted(text, i > 0, near[i].name);
	return NULL;
}
