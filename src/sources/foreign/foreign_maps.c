/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/foreign_maps.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "base/util.h"
#include "sources/foreign/foreign_query.h"
#include "sources/foreign/foreign_scan.h"

#define DELETED " (deleted)"
/* Of names in paths; a writer has one or two. */
#define ATTRIBUTES_MAX 64u

void foreign_maps_init(struct foreign_maps *maps)
{
	*maps = (struct foreign_maps){.any = false};
	foreign_mapping_vec_init(&maps->mappings);
	foreign_attribute_vec_init(&maps->attributes);
}

void foreign_maps_deinit(struct foreign_maps *maps)
{
	foreign_mapping_vec_deinit(&maps->mappings);
	foreign_attribute_vec_deinit(&maps->attributes);
	arena_deinit(&maps->texts);
}

bool foreign_maps_begin(struct foreign_maps *maps, const char *line, size_t len)
{
	static const char *const beginnings[] = {"MAPPED_LIBRARIES:", "--- Memory map: ---"};
	/* Servers write it through their log, with a prefix. */
	for (size_t i = 0; i < ARRAY_SIZE(beginnings) && !maps->any; i++)
		maps->any = memmem(line, len, beginnings[i], strlen(beginnings[i])) != NULL;
	return maps->any;
}

/* "7f12a000-7f12b000 r-xp 00001000 fe:00 123   /usr/lib/x.so"; the path may be empty. */
static bool scan_mapping(struct foreign_scan *scan, struct foreign_mapping *ret)
{
	uint64_t device, inode;
	foreign_scan_blanks(scan);
	if (!foreign_scan_hex(scan, &ret->start) || !foreign_scan_text(scan, "-") ||
		!foreign_scan_hex(scan, &ret->end) || !foreign_scan_text(scan, " "))
		return false;
	foreign_scan_blanks(scan);
	if (scan->end - scan->at < 5)
		return false;
	ret->code = scan->at[2] == 'x';
	scan->at += 4;
	foreign_scan_blanks(scan);
	if (!foreign_scan_hex(scan, &ret->offset))
		return false;
	foreign_scan_blanks(scan);
	if (!foreign_scan_hex(scan, &device) || !foreign_scan_text(scan, ":") ||
		!foreign_scan_hex(scan, &device) || !foreign_scan_u64(scan, &inode))
		return false;
	foreign_scan_blanks(scan);
	ret->path = (struct foreign_text){scan->at, (size_t)(scan->end - scan->at)};
	return true;
}

/* Up to the next blank. */
static struct foreign_text foreign_maps_take_word(struct foreign_scan *scan)
{
	foreign_scan_blanks(scan);
	const char *start = scan->at;
	while (scan->at < scan->end && (unsigned char)*scan->at > ' ')
		scan->at++;
	return (struct foreign_text){start, (size_t)(scan->at - start)};
}

static bool scan_address(struct foreign_scan *scan, uint64_t *ret)
{
	(void)foreign_scan_text(scan, "0x");
	return foreign_scan_hex(scan, ret);
}

static bool is_rights(struct foreign_text word)
{
	for (size_t i = 0; i < word.len; i++)
		if (!strchr("-rwxps", word.data[i]))
			return false;
	return word.len == 3 || word.len == 4;
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9'                     ? c - '0'
	       : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
							: -1;
}

static void take_build_id(struct foreign_text word, struct foreign_mapping *ret)
{
	size_t count = word.len / 2;
	if (word.len % 2 || count > sizeof(ret->build_id))
		return;
	for (size_t i = 0; i < count; i++) {
		int high = digit_of(word.data[2 * i]), low = digit_of(word.data[2 * i + 1]);
		if (high < 0 || low < 0)
			return;
		ret->build_id[i] = (uint8_t)(high << 4 | low);
	}
	ret->build_id_len = count;
}

/* "  00400000-00fcb000: /usr/bin/x (@1000) abc123", of which all but the range may lack */
static bool scan_short(struct foreign_scan *scan, struct foreign_mapping *ret)
{
	foreign_scan_blanks(scan);
	if (!scan_address(scan, &ret->start))
		return false;
	if (!foreign_scan_text(scan, "-"))
		foreign_scan_blanks(scan);
	foreign_scan_blanks(scan);
	if (!scan_address(scan, &ret->end))
		return false;
	(void)foreign_scan_text(scan, ":");
	struct foreign_text word = foreign_maps_take_word(scan);
	bool has_rights = is_rights(word);
	ret->code = !has_rights || memchr(word.data, 'x', word.len);
	ret->path = has_rights ? foreign_maps_take_word(scan) : word;
	foreign_scan_blanks(scan);
	if (foreign_scan_text(scan, "(@") && foreign_scan_hex(scan, &ret->offset))
		(void)foreign_scan_text(scan, ")");
	take_build_id(foreign_maps_take_word(scan), ret);
	return ret->path.len && *ret->path.data != '[' && *ret->path.data != '(';
}

/* "source=/home" */
static struct error *take_attribute(struct foreign_maps *maps, const char *line, size_t len)
{
	const char *equals = memchr(line, '=', len);
	if (!equals || maps->attributes.len == ATTRIBUTES_MAX)
		return NULL;
	struct foreign_scan name = foreign_scan_of(line, (size_t)(equals - line));
	struct foreign_scan value = foreign_scan_of(equals + 1, (size_t)(line + len - equals - 1));
	struct foreign_text left = foreign_maps_take_word(&name),
			    right = foreign_maps_take_word(&value);
	struct foreign_attribute attribute = {
		.name = {arena_strndup(&maps->texts, left.data, left.len), left.len},
		.value = {arena_strndup(&maps->texts, right.data, right.len), right.len}};
	if (!left.len)
		return NULL;
	return attribute.name.data && attribute.value.data &&
			       foreign_attribute_vec_push(&maps->attributes, attribute)
		       ? NULL
		       : error_no_memory();
}

/* The path with what it has of attributes replaced, for as long as the mappings. */
static struct error *path_make(
	struct foreign_maps *maps, struct foreign_text path, struct foreign_text *ret)
{
	_cleanup_(text_deinit) struct text made;
	text_init(&made);
	for (size_t at = 0; at < path.len;) {
		const struct foreign_attribute *found = NULL;
		for (size_t i = 0; path.data[at] == '$' && i < maps->attributes.len && !found;
			i++) {
			const struct foreign_attribute *one = &maps->attributes.data[i];
			if (one->name.len < path.len - at &&
				!memcmp(path.data + at + 1, one->name.data, one->name.len))
				found = one;
		}
		if (found)
			text_add_n(&made, found->value.data, found->value.len);
		else
			text_add_char(&made, path.data[at]);
		at += found ? 1 + found->name.len : 1;
	}
	ret->data = arena_strndup(&maps->texts, made.data ? made.data : "", made.len);
	ret->len = made.len;
	return made.failed || !ret->data ? error_no_memory() : NULL;
}

/* "W1220 15:07:15.20 8272 logger.cc:12033] ", as servers write it through their log; 0: none. */
static size_t log_prefix(const char *line, size_t len)
{
	size_t end = 0, digits = 0;
	while (end < len && line[end] != ']' && line[end] != '[')
		end++;
	if (end + 1 >= len || line[end] != ']' || line[end + 1] != ' ')
		return 0;
	while (digits < end && line[end - digits - 1] >= '0' && line[end - digits - 1] <= '9')
		digits++;
	return digits && digits < end && line[end - digits - 1] == ':' ? end + 2 : 0;
}

struct error *foreign_maps_line(struct foreign_maps *maps, const char *line, size_t len)
{
	if (memchr(line, '\0', len))
		return NULL;
	size_t prefix = log_prefix(line, len);
	struct foreign_scan scan = foreign_scan_of(line + prefix, len - prefix), again = scan;
	struct foreign_mapping mapping = {.order = maps->mappings.len}, brief = mapping;
	if (!scan_mapping(&scan, &mapping)) {
		if (!scan_short(&again, &brief))
			return take_attribute(maps, line, len);
		mapping = brief;
	} else if (!mapping.path.len || *mapping.path.data != '/') {
		return NULL;
	}
	if (mapping.end <= mapping.start)
		return NULL;
	size_t cut = strlen(DELETED);
	if (mapping.path.len > cut &&
		memcmp(mapping.path.data + mapping.path.len - cut, DELETED, cut) == 0)
		mapping.path.len -= cut;
	struct error *error = path_make(maps, mapping.path, &mapping.path);
	if (!error && !foreign_mapping_vec_push(&maps->mappings, mapping))
		error = error_no_memory();
	return error;
}

static bool foreign_maps_is_library(struct foreign_text path)
{
	return path_is_library(path.data, path.len);
}

struct error *foreign_maps_program(struct foreign_maps *maps, struct foreign *foreign)
{
	const struct foreign_mapping *found = NULL;
	for (size_t i = 0; i < maps->mappings.len; i++) {
		const struct foreign_mapping *mapping = &maps->mappings.data[i];
		if (mapping->code && (!found || (foreign_maps_is_library(found->path) &&
							!foreign_maps_is_library(mapping->path))))
			found = mapping;
	}
	if (!found)
		return NULL;
	struct error *error =
		foreign_string(foreign, found->path, &build_target(foreign->model)->exe);
	return error ? error : build_argument(foreign->model, found->path.data, found->path.len);
}

static int compare_starts(const void *left, const void *right)
{
	const struct foreign_mapping *a = left, *b = right;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* The last one that begins at or before the address, if it reaches so far. */
static struct foreign_mapping *foreign_maps_find(struct foreign_maps *maps, uint64_t address)
{
	struct foreign_mapping *all = maps->mappings.data;
	size_t low = 0, high = maps->mappings.len;
	if (!maps->sorted && high)
		qsort(all, high, sizeof(*all), compare_starts);
	maps->sorted = true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (all[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < all[low - 1].end ? &all[low - 1] : NULL;
}

static struct error *add_changed(
	struct foreign_maps *maps, struct foreign *foreign, struct foreign_text path)
{
	_cleanup_(text_deinit) struct text sentence;
	text_init(&sentence);
	text_add_shown(&sentence, path.data, 400);
	text_add(&sentence, " was changed after the dump was written: function names may be wrong");
	maps->changed = true;
	return build_damage(foreign->model, sentence.data ? sentence.data : "");
}

struct error *foreign_maps_module(struct foreign_maps *maps, struct foreign *foreign,
	const struct input *input, uint64_t address, struct module_id *ret)
{
	/* A call may be the last instruction of a mapping. */
	struct foreign_mapping *mapping = address ? foreign_maps_find(maps, address - 1) : NULL;
	*ret = (struct module_id){0};
	if (!mapping)
		return NULL;
	if (!mapping->module) {
		struct module about = {.start = mapping->start,
			.end = mapping->end,
			.build_id = mapping->build_id_len ? mapping->build_id : NULL,
			.build_id_len = mapping->build_id_len};
		about.bias =
			foreign_bias(foreign->root, mapping->path, mapping->start, mapping->offset);
		struct error *error = foreign_module(foreign, mapping->path, &about, ret);
		if (!error && !maps->changed && foreign_is_newer(mapping->path, input))
			error = add_changed(maps, foreign, mapping->path);
		if (error)
			return error;
		mapping->module = ret->value;
	}
	ret->value = mapping->module;
	return NULL;
}
