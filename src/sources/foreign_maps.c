/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign_maps.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "sources/foreign_query.h"
#include "sources/foreign_scan.h"

#define DELETED " (deleted)"

void foreign_maps_init(struct foreign_maps *maps)
{
	*maps = (struct foreign_maps){.any = false};
	foreign_mapping_vec_init(&maps->mappings);
}

void foreign_maps_deinit(struct foreign_maps *maps)
{
	foreign_mapping_vec_deinit(&maps->mappings);
	arena_deinit(&maps->texts);
}

bool foreign_maps_begin(struct foreign_maps *maps, const char *line, size_t len)
{
	struct foreign_scan scan = foreign_scan_of(line, len);
	if (!foreign_scan_text(&scan, "MAPPED_LIBRARIES:") &&
		!foreign_scan_text(&scan, "--- Memory map: ---"))
		return false;
	maps->any = true;
	return true;
}

/* "7f12a000-7f12b000 r-xp 00001000 fe:00 123   /usr/lib/x.so" */
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
	return ret->end > ret->start && scan->at < scan->end && *scan->at == '/';
}

struct error *foreign_maps_line(struct foreign_maps *maps, const char *line, size_t len)
{
	struct foreign_scan scan = foreign_scan_of(line, len);
	struct foreign_mapping mapping = {.order = maps->mappings.len};
	if (!scan_mapping(&scan, &mapping) || memchr(scan.at, '\0', (size_t)(scan.end - scan.at)))
		return NULL;
	size_t path_len = (size_t)(scan.end - scan.at), cut = strlen(DELETED);
	if (path_len > cut && memcmp(scan.end - cut, DELETED, cut) == 0)
		path_len -= cut;
	mapping.path.data = arena_strndup(&maps->texts, scan.at, path_len);
	mapping.path.len = path_len;
	if (!mapping.path.data || !foreign_mapping_vec_push(&maps->mappings, mapping))
		return error_no_memory();
	return NULL;
}

struct error *foreign_maps_program(struct foreign_maps *maps, struct foreign *foreign)
{
	for (size_t i = 0; i < maps->mappings.len; i++) {
		const struct foreign_mapping *mapping = &maps->mappings.data[i];
		if (!mapping->code)
			continue;
		struct error *error =
			foreign_string(foreign, mapping->path, &build_target(foreign->model)->exe);
		return error ? error
			     : build_argument(
				       foreign->model, mapping->path.data, mapping->path.len);
	}
	return NULL;
}

static int compare_starts(const void *left, const void *right)
{
	const struct foreign_mapping *a = left, *b = right;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* The last one that begins at or before the address, if it reaches so far. */
static struct foreign_mapping *find(struct foreign_maps *maps, uint64_t address)
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

static struct error *tell_changed(
	struct foreign_maps *maps, struct foreign *foreign, struct foreign_text path)
{
	_cleanup_(text_deinit) struct text sentence;
	text_init(&sentence);
	text_add_shown(&sentence, path.data, 400);
	text_add(&sentence,
		" was changed after the dump was written: names of functions may be wrong");
	maps->changed = true;
	return build_damage(foreign->model, sentence.data ? sentence.data : "");
}

struct error *foreign_maps_module(struct foreign_maps *maps, struct foreign *foreign,
	const struct input *input, uint64_t address, struct module_id *ret)
{
	/* A call may be the last instruction of a mapping. */
	struct foreign_mapping *mapping = address ? find(maps, address - 1) : NULL;
	*ret = (struct module_id){0};
	if (!mapping)
		return NULL;
	if (!mapping->module) {
		struct module about = {.start = mapping->start, .end = mapping->end};
		about.bias =
			foreign_bias(foreign->root, mapping->path, mapping->start, mapping->offset);
		struct error *error = foreign_module(foreign, mapping->path, &about, ret);
		if (!error && !maps->changed && foreign_is_newer(mapping->path, input))
			error = tell_changed(maps, foreign, mapping->path);
		if (error)
			return error;
		mapping->module = ret->value;
	}
	ret->value = mapping->module;
	return NULL;
}
