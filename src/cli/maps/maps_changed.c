/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/maps/maps_changed.h"

#include <stdlib.h>

#include "base/checksum.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "process/memory.h"

#define PAGE ((uint64_t)4096)
#define PIECE_BYTES ((size_t)1 << 20)

void maps_written_deinit(struct maps_written *written)
{
	page_sums_deinit(&written->first);
	free(written->changes.regions);
}

/* Writable mappings, and what becomes of their pages. */
struct reading {
	struct process_memory memory;
	uint8_t *piece;
	const struct look_mapping *(*mapping)(const struct reading *reading, size_t index);
	const void *list;
	size_t count, at;
	bool (*take)(struct reading *reading, uint64_t page, const uint8_t *content);
	void *ctx;
	bool is_partial; /* some pages could not be read */
};

static bool is_writable(const struct look_mapping *mapping)
{
	return mapping->flags[0] == 'r' && mapping->flags[1] == 'w' &&
	       mapping->owner != LOOK_DEVICE && mapping->owner != LOOK_KERNEL;
}

static bool range_read(struct reading *reading, uint64_t start, uint64_t end)
{
	while (start < end) {
		size_t wanted = (size_t)min(end - start, (uint64_t)PIECE_BYTES);
		size_t got = process_memory_read(&reading->memory, start, reading->piece, wanted);
		for (size_t at = 0; at + PAGE <= got; at += PAGE) {
			if (!reading->take(reading, start + at, reading->piece + at))
				return false;
		}
		/* A page may have gone meanwhile: the next ones are read all the same. */
		reading->is_partial |= got < wanted;
		start += got < wanted ? got / PAGE * PAGE + PAGE : got;
	}
	return true;
}

/* Reads those of some pages that are of writable mappings. */
static bool pages_read(void *ctx, uint64_t start, uint64_t end)
{
	struct reading *reading = ctx;
	while (reading->at < reading->count) {
		const struct look_mapping *mapping = reading->mapping(reading, reading->at);
		if (mapping->start >= end)
			break;
		uint64_t from = max(start, mapping->start), until = min(end, mapping->end);
		if (from < until && is_writable(mapping) && !range_read(reading, from, until))
			return false;
		if (mapping->end > end)
			break;
		reading->at++;
	}
	return true;
}

/* Reads all pages; the error is lack of memory, or that the kernel does not say which there are. */
static struct error *process_read_pages(
	struct reading *reading, struct live_looker *looker, const char **ret_unknown)
{
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
	if (!piece)
		return error_no_memory();
	if (!looker->scans) {
		*ret_unknown = "which pages are in memory is not known: this kernel has no "
			       "PAGEMAP_SCAN (Linux 6.7), or --source=smaps was given";
		return NULL;
	}
	struct error *error =
		process_memory_open(looker->reads, looker->reads, NULL, &reading->memory);
	if (error) {
		error_destroy(error);
		*ret_unknown = "the memory of the process can't be read (CAP_SYS_PTRACE, "
			       "/proc/sys/kernel/yama/ptrace_scope)";
		return NULL;
	}
	reading->piece = piece;
	error = live_look_pages(looker, pages_read, reading);
	process_memory_close(&reading->memory);
	if (reading->is_partial)
		*ret_unknown = "some pages could not be read: the process gave them back";
	return error;
}

static const struct look_mapping *look_mapping_at(const struct reading *reading, size_t index)
{
	return &((const struct look_mapping *)reading->list)[index];
}

static bool sum_keep(struct reading *reading, uint64_t page, const uint8_t *content)
{
	const struct page_sum sum = {page, checksum64(content, PAGE)};
	return page_sums_push(reading->ctx, sum);
}

struct error *maps_written_begin(
	struct maps_written *written, struct live_looker *looker, const struct memory_look *look)
{
	struct reading reading = {.mapping = look_mapping_at,
		.list = look->mappings.data,
		.count = look->mappings.len,
		.take = sum_keep,
		.ctx = &written->first};
	return process_read_pages(&reading, looker, &written->changes.unknown);
}

static const struct look_mapping *part_mapping_at(const struct reading *reading, size_t index)
{
	return &((const struct mapping_part *)reading->list)[index].mapping;
}

struct comparison {
	const struct page_sums *first;
	size_t at;
	const struct mapping_part *parts;
	struct maps_change *regions;
};

static bool page_compare(struct reading *reading, uint64_t page, const uint8_t *content)
{
	struct comparison *comparison = reading->ctx;
	const struct page_sums *first = comparison->first;
	while (comparison->at < first->len && first->data[comparison->at].page < page)
		comparison->at++;
	if (comparison->at >= first->len || first->data[comparison->at].page != page)
		return true;
	struct maps_change *change = &comparison->regions[comparison->parts[reading->at].region];
	change->compared += PAGE;
	if (checksum64(content, PAGE) != first->data[comparison->at].sum)
		change->changed += PAGE;
	return true;
}

struct error *maps_written_end(struct maps_written *written, struct live_looker *looker,
	const struct mapping_series *series)
{
	struct maps_changes *changes = &written->changes;
	if (changes->unknown && !written->first.len)
		return NULL;
	changes->regions = calloc(series->regions.len + 1, sizeof(*changes->regions));
	if (!changes->regions)
		return error_no_memory();
	struct comparison comparison = {&written->first, 0, series->parts.data, changes->regions};
	struct reading reading = {.mapping = part_mapping_at,
		.list = series->parts.data,
		.count = series->parts.len,
		.take = page_compare,
		.ctx = &comparison};
	const char *unknown = NULL;
	struct error *error = process_read_pages(&reading, looker, &unknown);
	bool has_read = !unknown || reading.is_partial;
	changes->unknown = unknown ? unknown : changes->unknown;
	changes->count = has_read ? series->regions.len : 0;
	return error;
}
