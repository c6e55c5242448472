/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/resident.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/util.h"
#include "capture/shared_memory.h"
#include "capture/writer/columns.h"

#define PAGE_BYTES HPW_MAPPING_PAGE_BYTES
#define PAGE_PRESENT (1ull << 63) /* in an entry of pagemap */
/* Lines of one kind that a sample names; the others are one line. */
#define NAMED_MOST 64u
/* Pages of a mapping that are looked through for a block. */
#define BLOCK_PAGES_MAX (1ull << 22)

static inline bool resident_same_key(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(resident_line_map, uint64_t, uint32_t, hash_u64, resident_same_key)

/* A sample in the making. */
struct looking {
	const struct resident_view *view;
	struct resident_vec lines; /* of mappings and files */
	struct resident_line_map known;
	uint64_t sums[HPW_RESIDENT_WHATS];
	uint64_t stacks;
	bool failed;
};

static void lines_deinit(struct resident_vec *lines)
{
	for (size_t i = 0; i < lines->len; i++)
		free(lines->data[i].name);
	resident_vec_deinit(lines);
}

static void looking_deinit(struct looking *looking)
{
	lines_deinit(&looking->lines);
	resident_line_map_deinit(&looking->known);
}

void resident_deinit(struct resident *resident)
{
	lines_deinit(&resident->lines);
}

/* Adds to a line of its own. */
static void add_named(struct looking *l, enum hpw_resident what, uint64_t bytes, uint64_t detail,
	uint8_t kind, const char *name)
{
	size_t len = strlen(name);
	uint64_t key = hash_bytes(name, len) ^ hash_u64(detail << 16 | (uint64_t)kind << 8 | what);
	bool is_new;
	uint32_t *place = resident_line_map_insert(&l->known, key, &is_new);
	if (!place) {
		l->failed = true;
		return;
	}
	if (is_new) {
		struct resident_line line = {.what = (uint8_t)what, .kind = kind, .detail = detail};
		*place = (uint32_t)l->lines.len;
		line.name = *name ? strndup(name, HPW_RESIDENT_NAME_MAX) : NULL;
		if ((*name && !line.name) || !resident_vec_push(&l->lines, line)) {
			free(line.name);
			l->failed = true;
			return;
		}
	}
	if (*place < l->lines.len)
		l->lines.data[*place].bytes += bytes;
	l->sums[what] += bytes;
}

/* How much of a part of a mapping is resident. */
static uint64_t count_resident(const struct resident_view *view, uint64_t start, uint64_t end)
{
	uint64_t entries[512], bytes = 0, page = start / PAGE_BYTES, last = end / PAGE_BYTES;
	while (view->pagemap >= 0 && page < last) {
		size_t want = min((size_t)(last - page), ARRAY_SIZE(entries));
		ssize_t got = pread(view->pagemap, entries, want * sizeof(*entries),
			(off_t)(page * sizeof(*entries)));
		if (got < (ssize_t)sizeof(*entries))
			break;
		for (size_t i = 0; i < (size_t)got / sizeof(*entries); i++, page++)
			bytes += entries[i] & PAGE_PRESENT ? PAGE_BYTES : 0;
	}
	return bytes;
}

static bool is_own(const struct resident_view *view, const struct process_map *map)
{
	const char *base = strrchr(map->path, '/');
	for (unsigned i = 0; i < ARRAY_SIZE(view->own_start); i++) {
		if (view->own_start[i] < map->end && map->start < view->own_end[i])
			return true;
	}
	return !strncmp(map->path, "/memfd:" SHARED_MEMORY_PREFIX,
		       strlen("/memfd:" SHARED_MEMORY_PREFIX)) ||
	       (base && !strncmp(base, "/libheapwise-", strlen("/libheapwise-")));
}

static bool has_block(const struct resident_view *view, uint64_t start, uint64_t end)
{
	uint64_t pages = (end - start) / PAGE_BYTES;
	for (uint64_t i = 0; view->live->blocks && i < pages && i < BLOCK_PAGES_MAX; i++) {
		const struct live_page *page = live_page_of(view->live, start + i * PAGE_BYTES);
		if (page && page->used)
			return true;
	}
	return false;
}

/*
 * Whether a mapping without a file is the zero-initialised data of the module below. Files of data
 * have none: what is above one is there by chance, the kernel fills address space downwards.
 */
static bool is_zeroed_data(const struct resident_view *view, const struct process_map *map)
{
	const struct process_map *first = view->maps->maps.data, *below = map;
	bool has_code = false;
	if (map == first || map->path[0] || !map->writable || map[-1].shared)
		return false;
	while (below > first && below[-1].end == below->start && below[-1].path[0] == '/' &&
		!strcmp(below[-1].path, map[-1].path))
		has_code |= (--below)->executable;
	return has_code;
}

/* What no call of the program has mapped. */
static void add_unowned(struct looking *l, const struct process_map *map, uint64_t start,
	uint64_t end, uint64_t bytes)
{
	if (!bytes)
		return;
	if (map->path[0] == '/')
		add_named(l, HPW_RESIDENT_FILE, bytes, 0, 0, map->path);
	else if (!strcmp(map->path, "[heap]") || has_block(l->view, start, end))
		l->sums[HPW_RESIDENT_HEAP] += bytes;
	else if (is_zeroed_data(l->view, map))
		add_named(l, HPW_RESIDENT_FILE, bytes, 0, 0, map[-1].path);
	else
		l->sums[HPW_RESIDENT_OTHER] += bytes;
}

static void add_owned(struct looking *l, uint32_t owner, const char *path, uint64_t bytes)
{
	uint8_t what = mapping_owner_what(owner);
	uint32_t number = mapping_owner_number(owner);
	const struct mapping_info_vec *infos = &l->view->mappings->infos;
	const struct mapping_info info =
		number < infos->len ? infos->data[number] : (struct mapping_info){0, 0};
	if (!bytes)
		return;
	if (info.flags & HPW_MAPPING_ALLOCATOR)
		l->sums[HPW_RESIDENT_HEAP] += bytes;
	else if (what == HPW_MAPPING_THREAD_STACK)
		l->sums[HPW_RESIDENT_STACKS] += bytes;
	else
		add_named(l, HPW_RESIDENT_MAPPING, bytes, info.stack, what, path);
}

/* The kernel makes one mapping of several that are alike: pagemap shows how much of each is
 * resident. What it does not tell (it was read at another moment) is the last one's. */
static void add_pieces(struct looking *l, const struct process_map *map, uint64_t bytes)
{
	const struct interval_map *live = &l->view->mappings->live;
	const char *path = map->path[0] == '/' ? map->path : "";
	uint64_t at = map->start, left = bytes;
	while (at < map->end) {
		const struct owned_range *range = interval_map_from(live, at);
		bool owned = range && range->start <= at;
		uint64_t end = owned ? range->end : range ? range->start : map->end;
		end = min(end, map->end);
		uint64_t part = end == map->end && at == map->start
					? bytes
					: min(count_resident(l->view, at, end), left);
		part = end == map->end ? left : part;
		if (owned)
			add_owned(l, range->owner, path, part);
		else
			add_unowned(l, map, at, end, part);
		left -= part;
		at = end;
	}
}

static void add_map(struct looking *l, size_t i, uint64_t bytes)
{
	const struct process_map *map = &l->view->maps->maps.data[i];
	if (!strcmp(map->path, "[stack]")) {
		l->sums[HPW_RESIDENT_STACKS] += bytes;
		l->stacks++;
	} else if (is_own(l->view, map)) {
		l->sums[HPW_RESIDENT_RECORDER] += bytes;
	} else {
		add_pieces(l, map, bytes);
	}
}

static int resident_compare_lines(const void *left, const void *right)
{
	const struct resident_line *a = left, *b = right;
	return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

/* The name is the list's then. Returns false if there is no memory. */
static bool push_line(struct resident *resident, const struct resident_line *line, bool *failed)
{
	bool pushed = resident_vec_push(&resident->lines, *line);
	*failed |= !pushed;
	return pushed;
}

/* The largest lines of one kind, and one of all others. */
static void push_named(struct resident *resident, struct looking *l, enum hpw_resident what)
{
	struct resident_line others = {.stamp = l->view->stamp, .what = (uint8_t)what};
	unsigned named = 0;
	for (size_t i = 0; i < l->lines.len; i++) {
		struct resident_line *line = &l->lines.data[i];
		if (line->what != what)
			continue;
		if (named++ >= NAMED_MOST) {
			others.bytes += line->bytes;
			continue;
		}
		line->stamp = l->view->stamp;
		if (push_line(resident, line, &l->failed))
			line->name = NULL;
	}
	if (others.bytes)
		push_line(resident, &others, &l->failed);
}

static void push_sum(struct resident *resident, struct looking *l, enum hpw_resident what,
	uint64_t bytes, uint64_t detail)
{
	const struct resident_line line = {
		.stamp = l->view->stamp, .what = (uint8_t)what, .bytes = bytes, .detail = detail};
	push_line(resident, &line, &l->failed);
}

static void push_sample(struct resident *resident, struct looking *l)
{
	const struct resident_view *view = l->view;
	uint64_t all = 0;
	size_t before = resident->lines.len;
	for (unsigned what = HPW_RESIDENT_HEAP; what < HPW_RESIDENT_WHATS; what++)
		all += l->sums[what];
	if (l->lines.len)
		qsort(l->lines.data, l->lines.len, sizeof(*l->lines.data), resident_compare_lines);
	push_sum(resident, l, HPW_RESIDENT_ALL, all, 0);
	if (view->heap_known) {
		push_sum(resident, l, HPW_RESIDENT_REQUESTED, view->requested_bytes,
			view->requested_blocks);
		push_sum(resident, l, HPW_RESIDENT_ROUNDING, view->padding_bytes, 0);
	}
	push_sum(resident, l, HPW_RESIDENT_HEAP, l->sums[HPW_RESIDENT_HEAP], 0);
	push_named(resident, l, HPW_RESIDENT_MAPPING);
	push_sum(resident, l, HPW_RESIDENT_STACKS, l->sums[HPW_RESIDENT_STACKS], 0);
	push_named(resident, l, HPW_RESIDENT_FILE);
	push_sum(resident, l, HPW_RESIDENT_RECORDER, l->sums[HPW_RESIDENT_RECORDER], 0);
	push_sum(resident, l, HPW_RESIDENT_OTHER, l->sums[HPW_RESIDENT_OTHER], 0);
	if (!l->failed && resident->written + resident->lines.len <= HPW_RESIDENT_MAX)
		return;
	while (resident->lines.len > before)
		free(resident->lines.data[--resident->lines.len].name);
}

void resident_look(struct resident *resident, const struct resident_view *view)
{
	_cleanup_(looking_deinit) struct looking l = {.view = view};
	size_t count = view->maps->maps.len;
	_cleanup_free_ struct process_map_usage *usage = calloc(count + 1, sizeof(*usage));
	resident_vec_init(&l.lines);
	resident_line_map_init(&l.known);
	if (!usage)
		return;
	struct error *error = process_maps_usage(view->pid, view->maps, usage);
	if (error) {
		error_destroy(error);
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (usage[i].known && usage[i].resident)
			add_map(&l, i, usage[i].resident);
	if (!l.failed)
		push_sample(resident, &l);
}

bool resident_put(struct resident *resident, struct buf *ret)
{
	struct columns c;
	uint64_t stamp = 0;
	columns_init(&c, HPW_RESIDENT_COLUMNS);
	for (size_t i = 0; i < resident->lines.len; i++) {
		struct resident_line *line = &resident->lines.data[i];
		size_t len = line->name ? strlen(line->name) : 0;
		const uint64_t values[HPW_RESIDENT_NAMES] = {
			zigzag_encode((int64_t)(line->stamp - stamp)), line->what, line->bytes,
			line->detail, line->kind, len};
		for (unsigned k = 0; k < HPW_RESIDENT_NAMES; k++)
			columns_add(&c, k, values[k]);
		buf_bytes(&c.column[HPW_RESIDENT_NAMES], line->name ? line->name : "", len);
		stamp = line->stamp;
		free(line->name);
		line->name = NULL;
	}
	resident->written += resident->lines.len;
	resident_vec_clear(&resident->lines);
	return columns_finish(&c, ret);
}
