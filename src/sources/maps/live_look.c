/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/live_look.h"

#include <stdlib.h>
#include <string.h>

#include "process/numa_maps.h"
#include "process/proc_info.h"
#include "process/smaps.h"
#include "sources/maps/live_allocators.h"
#include "sources/maps/live_owners.h"
#include "sources/maps/look_entry.h"

/*
 * With many mappings their list takes as long as their pages. It is read again if the size of the
 * address space has changed, if pages lie outside of what is known, and every so many looks.
 */
#define LOOK_REUSE_FROM 2000u
#define LOOK_REUSED_MAX 29u

struct error *live_looker_open(pid_t pid, enum live_look_way way, struct live_looker *ret)
{
	pid_t reads = process_first_live_thread(pid);
	*ret = (struct live_looker){.pid = pid, .reads = reads, .scan = {.pages = -1}};
	ret->smaps.file = ret->sizes.file = ret->maps.file = ret->numa.file = -1;
	struct error *error = proc_text_open(reads, "maps", &ret->maps);
	if (!error)
		error = proc_text_open(reads, "smaps", &ret->smaps);
	if (!error)
		error = proc_text_open(reads, "statm", &ret->sizes);
	if (error || way == LIVE_LOOK_SMAPS)
		return error;
	error = page_scan_open(reads, &ret->scan, &ret->scans);
	if (way == LIVE_LOOK_SCAN && !error && !ret->scans)
		return error_create(ERROR_ENVIRONMENT,
			"this kernel has no PAGEMAP_SCAN (Linux 6.7): leave --source out, or use "
			"--source=smaps");
	if (error && way == LIVE_LOOK_ANY) {
		error_destroy(error);
		error = NULL;
	}
	return error;
}

void live_looker_close(struct live_looker *looker)
{
	proc_text_close(&looker->maps);
	proc_text_close(&looker->smaps);
	proc_text_close(&looker->sizes);
	proc_text_close(&looker->numa);
	page_scan_close(&looker->scan);
}

struct error *live_looker_read_nodes(struct live_looker *looker)
{
	struct error *error = proc_text_open(looker->reads, "numa_maps", &looker->numa);
	looker->reads_nodes = !error;
	return error;
}

static bool node_add(void *ctx, const struct numa_entry *entry)
{
	struct memory_look *look = ctx;
	const struct look_node node = {entry->start, entry->bytes, entry->node};
	look->nodes_known = look_node_vec_push(&look->nodes, node);
	return look->nodes_known;
}

/* A look without nodes is a look all the same. */
static void nodes_read(struct live_looker *looker, struct memory_look *look)
{
	look->nodes.len = 0;
	look->nodes_known = false;
	struct error *error = proc_text_read(&looker->numa);
	if (!error && looker->numa.len) {
		look->nodes_known = true;
		size_t left_out = numa_maps_parse(looker->numa.data, node_add, look);
		look->nodes_known = look->nodes_known && !left_out;
	}
	if (!look->nodes_known)
		look->nodes.len = 0;
	looker->nodes_failed |= !look->nodes_known;
	error_destroy(error);
}

struct look_scan {
	struct memory_look *look;
	size_t at;
	uint64_t outside; /* bytes of pages in no mapping that is known */
};

/* Pages that smaps does not count either. */
static bool is_uncounted(const struct look_mapping *mapping)
{
	return (mapping->owner == LOOK_KERNEL && !strncmp(mapping->name, "[vvar", 5)) ||
	       !strncmp(mapping->name, "/anon_hugepage", 14);
}

static void run_add(void *ctx, const struct page_run *run)
{
	struct look_scan *scan = ctx;
	struct look_mapping_vec *mappings = &scan->look->mappings;
	for (uint64_t at = run->start; at < run->end;) {
		while (scan->at < mappings->len && mappings->data[scan->at].end <= at)
			scan->at++;
		struct look_mapping *mapping =
			scan->at < mappings->len ? &mappings->data[scan->at] : NULL;
		uint64_t end = run->end;
		if (!mapping || mapping->start > at) {
			end = mapping && mapping->start < end ? mapping->start : end;
			scan->outside += end - at;
			at = end;
			continue;
		}
		end = mapping->end < end ? mapping->end : end;
		if (run->is_present && !run->is_zero && !is_uncounted(mapping))
			mapping->figures[LOOK_RSS] += end - at;
		if (run->is_swapped && !(mapping->known & 1u << LOOK_PSS))
			mapping->figures[LOOK_SWAPPED] += end - at;
		if (run->is_present && run->is_huge && !run->is_zero &&
			!(mapping->known & 1u << LOOK_PSS))
			mapping->figures[LOOK_HUGE] += end - at;
		at = end;
	}
}

/* Counts resident and swapped pages. Of devices, and what shared memory has swapped out, page
 * tables do not tell. */
static struct error *pages_count(
	struct live_looker *looker, struct memory_look *look, uint64_t *ret_outside)
{
	for (size_t i = 0; i < look->mappings.len; i++) {
		struct look_mapping *mapping = &look->mappings.data[i];
		bool is_private = mapping->flags[3] == 'p';
		/* What smaps had is of an earlier look. */
		if (looker->reused)
			mapping->known = 0;
		mapping->figures[LOOK_RSS] = 0;
		mapping->known &= ~(1u << LOOK_RSS);
		if (mapping->owner != LOOK_DEVICE)
			mapping->known |= 1u << LOOK_RSS;
		/* smaps knows more of it. */
		if (!(mapping->known & 1u << LOOK_PSS) && is_private)
			look_set_figure(mapping, LOOK_SWAPPED, 0);
		if (!(mapping->known & 1u << LOOK_PSS) && mapping->owner != LOOK_DEVICE)
			look_set_figure(mapping, LOOK_HUGE, 0);
	}
	struct look_scan scan = {.look = look};
	struct error *error = page_scan_walk(&looker->scan, run_add, &scan);
	*ret_outside = scan.outside;
	return error;
}

/* What mappings are for. */
static struct error *owners_find(struct live_looker *looker, struct memory_look *look)
{
	enum live_allocators_result result = LIVE_ALLOCATORS_UNKNOWN;
	struct error *error = live_owners_find(looker->reads, look, &looker->owners_known);
	if (!error && looker->owners_known)
		error = live_allocators_find(looker->reads, look, &result);
	looker->owners_known &= result != LIVE_ALLOCATORS_UNKNOWN;
	looker->owners_cut |= result == LIVE_ALLOCATORS_ENDED;
	return error;
}

/* The size of the address space in pages; 0: not known. */
static unsigned long pages_of(struct live_looker *looker)
{
	struct error *error = proc_text_read(&looker->sizes);
	unsigned long pages = error ? 0 : strtoul(looker->sizes.data, NULL, 10);
	error_destroy(error);
	return pages;
}

/* Reads the list of mappings anew, with the figures of smaps or without. */
static struct error *mappings_read(
	struct live_looker *looker, bool full, struct memory_look *look, bool *ret_ended)
{
	struct proc_text *text = full ? &looker->smaps : &looker->maps;
	struct error *error = proc_text_read(text);
	*ret_ended = !error && !text->len;
	if (error || *ret_ended)
		return error;
	memory_look_deinit(look);
	memory_look_init(look);
	/* Names lie in the text: the look takes it over. */
	look->text = text->data;
	text->data = NULL;
	text->room = 0;
	bool ok = look_entries_read(look, look->text, &looker->left_out);
	return ok ? NULL : error_no_memory();
}

static struct error *look_anew(
	struct live_looker *looker, bool full, struct memory_look *look, bool *ret_ended)
{
	uint64_t outside;
	looker->pages = pages_of(looker);
	looker->reused = 0;
	struct error *error = mappings_read(looker, full || !looker->scans, look, ret_ended);
	if (!error && !*ret_ended && looker->scans)
		error = pages_count(looker, look, &outside);
	if (!error && !*ret_ended && full)
		error = owners_find(looker, look);
	return error;
}

static struct error *look_take(
	struct live_looker *looker, bool full, struct memory_look *look, bool *ret_ended)
{
	bool can_reuse = !full && looker->scans && look->mappings.len >= LOOK_REUSE_FROM &&
			 looker->reused < LOOK_REUSED_MAX && looker->pages &&
			 pages_of(looker) == looker->pages;
	*ret_ended = false;
	if (can_reuse) {
		uint64_t outside;
		looker->reused++;
		struct error *error = pages_count(looker, look, &outside);
		if (!error && !outside)
			return NULL;
		error_destroy(error);
	}
	return look_anew(looker, full, look, ret_ended);
}

struct error *live_look_take(
	struct live_looker *looker, bool full, struct memory_look *look, bool *ret_ended)
{
	struct error *error = look_take(looker, full, look, ret_ended);
	if (!error && !*ret_ended && looker->reads_nodes)
		nodes_read(looker, look);
	return error;
}

struct pages_taken {
	bool (*take)(void *ctx, uint64_t start, uint64_t end);
	void *ctx;
	bool failed;
};

static void run_take(void *ctx, const struct page_run *run)
{
	struct pages_taken *taken = ctx;
	if (run->is_present && !run->is_zero && !taken->failed)
		taken->failed = !taken->take(taken->ctx, run->start, run->end);
}

struct error *live_look_pages(struct live_looker *looker,
	bool (*take)(void *ctx, uint64_t start, uint64_t end), void *ctx)
{
	struct pages_taken taken = {take, ctx, false};
	if (!looker->scans)
		return error_create(
			ERROR_ENVIRONMENT, "this kernel has no PAGEMAP_SCAN (Linux 6.7)");
	struct error *error = page_scan_walk(&looker->scan, run_take, &taken);
	return error || !taken.failed ? error : error_no_memory();
}
