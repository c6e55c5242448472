/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/allocators/go_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/allocators/allocator.h"
#include "heap/blocks/page_cache.h"

/* What describes a span, as far as it is read. */
#define ABOUT_BYTES 128u
/* What describes a span is that much longer at most. */
#define METADATA_GAP 256u
#define PORTION_BYTES (256u << 10)
/* Of a list its first spans are looked at before it is read whole. */
#define SPANS_TRIED 8u
/* Of lists that turn out to be none, this many spans in all. */
#define GO_IN_VAIN_MAX (1ull << 24)
#define GO_SPANS_MAX (1ull << 31)
/* Of 8 bytes in a page. */
#define GO_ELEMENTS_MAX 1024u
#define GO_PAGES_MAX (1ull << 34)
#define GO_SMALL_MAX 32768u

enum { SPAN_DEAD, SPAN_OF_ELEMENTS, SPAN_OF_OTHERS, SPAN_STATES };

/* Offsets of what versions have elsewhere. */
static const struct shape {
	uint8_t next, elements, number_bytes;
	uint8_t bits, count, class, state, size, limit;
} shapes[] = {
	{48, 56, 8, 72, 96, 98, 99, 104, 112},    /* 1.12 to 1.20 */
	{48, 56, 8, 72, 104, 106, 107, 112, 120}, /* 1.21 */
	{48, 50, 2, 64, 96, 98, 99, 104, 112},    /* from 1.22 on */
};
#define START_AT 24u
#define PAGES_AT 32u

struct finding_spans {
	struct go_spans *go;
	struct page_cache pages;
	const struct shape *shape;
	uint64_t sizes[GO_CLASSES]; /* of classes that were met */
	uint64_t in_vain;           /* spans that were looked at for lists that are none */
	bool failed;
};

static uint64_t number_at(const uint8_t *about, unsigned at, unsigned bytes)
{
	uint64_t number = 0;
	memcpy(&number, about + at, bytes);
	return number;
}

/* Whether what describes a span of elements agrees with itself. */
static bool is_right(const struct shape *shape, const uint8_t *about, const struct go_span *span)
{
	uint64_t bytes = span->end - span->start;
	uint64_t limit = number_at(about, shape->limit, 8);
	uint64_t count = number_at(about, shape->count, 2);
	if (!span->elements || span->elements > GO_ELEMENTS_MAX || !span->size ||
		span->size > bytes / span->elements || limit <= span->start || limit > span->end ||
		span->next > span->elements || count > span->elements || !span->bits ||
		span->bits % 8 || span->class / 2 >= GO_CLASSES)
		return false;
	if (span->class / 2 == 0)
		return span->elements == 1;
	/* What is left at the end is less than an element. */
	return span->size % 8 == 0 && span->size <= GO_SMALL_MAX &&
	       limit == span->start + span->elements * span->size;
}

/* Reads what describes a span. False: it describes none. *ret_state: of what. */
static bool read_span(
	struct finding_spans *f, uint64_t address, struct go_span *ret, unsigned *ret_state)
{
	uint8_t about[ABOUT_BYTES];
	const struct shape *shape = f->shape;
	if (!address || address % 8 || address >> 47 ||
		page_cache_read(&f->pages, address, about, sizeof(about)) != sizeof(about))
		return false;
	uint64_t pages = number_at(about, PAGES_AT, 8);
	*ret = (struct go_span){.start = number_at(about, START_AT, 8),
		.bits = number_at(about, shape->bits, 8),
		.size = number_at(about, shape->size, 8),
		.class = about[shape->class]};
	*ret_state = about[shape->state];
	if (*ret_state == SPAN_DEAD)
		return ret->start % GO_PAGE_BYTES == 0;
	uint64_t elements = number_at(about, shape->elements, shape->number_bytes);
	uint64_t next = number_at(about, shape->next, shape->number_bytes);
	if (*ret_state >= SPAN_STATES || !ret->start || ret->start % GO_PAGE_BYTES ||
		ret->start >> 47 || !pages || pages > GO_PAGES_MAX)
		return false;
	ret->end = ret->start + pages * GO_PAGE_BYTES;
	ret->elements = elements > UINT32_MAX ? 0 : (uint32_t)elements;
	ret->next = next > UINT32_MAX ? UINT32_MAX : (uint32_t)next;
	const struct address_space *space = f->go->space;
	return address_space_map(space, ret->start) && address_space_map(space, ret->end - 1) &&
	       (*ret_state == SPAN_OF_OTHERS || is_right(shape, about, ret));
}

/* Spans of a class have elements of one size. */
static bool go_spans_agrees(struct finding_spans *f, const struct go_span *span)
{
	unsigned class = span->class / 2;
	if (!class)
		return true;
	if (!f->sizes[class])
		f->sizes[class] = span->size;
	return f->sizes[class] == span->size;
}

/* False: no memory. */
static bool keep_span(
	struct go_spans *go, uint64_t about, const struct go_span *span, unsigned state)
{
	struct heap_range range = {about, about + ABOUT_BYTES};
	if (!heap_ranges_push(&go->metadata, range))
		return false;
	if (state == SPAN_OF_OTHERS) {
		struct heap_range other = {span->start, span->end};
		return heap_ranges_push(&go->others, other);
	}
	return state != SPAN_OF_ELEMENTS || go_span_vec_push(&go->spans, *span);
}

static void forget_spans(struct go_spans *go)
{
	go_span_vec_clear(&go->spans);
	heap_ranges_clear(&go->others);
	heap_ranges_clear(&go->metadata);
}

/* Takes up to `most` spans of a list; false: it is none. */
static bool take_spans(struct finding_spans *f, uint64_t list, uint64_t most, bool keeps)
{
	struct go_spans *go = f->go;
	uint64_t words[64];
	memset(f->sizes, 0, sizeof(f->sizes));
	for (uint64_t at = 0; at < most; at += ARRAY_SIZE(words)) {
		size_t some = (size_t)min(most - at, (uint64_t)ARRAY_SIZE(words));
		f->in_vain += keeps ? some : 0;
		if (page_cache_read(&f->pages, list + 8 * at, words, 8 * some) != 8 * some)
			return false;
		for (size_t i = 0; i < some; i++) {
			struct go_span span;
			unsigned state;
			if (!read_span(f, words[i], &span, &state) ||
				(state == SPAN_OF_ELEMENTS && !go_spans_agrees(f, &span)))
				return false;
			f->failed |= keeps && !keep_span(go, words[i], &span, state);
			if (f->failed)
				return false;
		}
	}
	return true;
}

/* Whether three words are a list of spans, which is taken. */
static bool go_spans_take_list(struct finding_spans *f, const uint64_t *words)
{
	uint64_t list = words[0], count = words[1], room = words[2];
	if (!list || list % 8 || list >> 47 || !count || count > room || room > GO_SPANS_MAX ||
		f->in_vain > GO_IN_VAIN_MAX)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(shapes) && !f->failed; i++) {
		f->shape = &shapes[i];
		if (!take_spans(f, list, min(count, (uint64_t)SPANS_TRIED), false))
			continue;
		if (take_spans(f, list, count, true) && f->go->spans.len)
			return true;
		forget_spans(f->go);
	}
	return false;
}

static bool look_in_map(struct finding_spans *f, const struct process_map *map, uint64_t *words)
{
	const struct address_space *space = f->go->space;
	uint64_t at = map->start;
	while (at < map->end && !f->failed) {
		at = address_space_next(space, at, map->end) & ~7ull;
		size_t bytes = (size_t)min(map->end - at, (uint64_t)PORTION_BYTES);
		if (address_space_untouched(space, at, bytes) >= bytes) {
			at += bytes;
			continue;
		}
		size_t count = address_space_read(space, at, words, bytes) / 8;
		for (size_t i = 0; i + 3 <= count; i++) {
			if (go_spans_take_list(f, words + i))
				return true;
		}
		/* The next portion begins where a list may not have been whole. */
		at = bytes < PORTION_BYTES ? map->end : at + bytes - 16;
	}
	return false;
}

static int go_spans_by_start(const void *a, const void *b)
{
	const struct go_span *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

/* Of those that overlap the first stays. False: no memory. */
static bool put_in_order(struct go_spans *go)
{
	size_t kept = 0;
	struct heap_damage broken = {.what = "spans of Go overlap"};
	if (go->spans.len)
		qsort(go->spans.data, go->spans.len, sizeof(*go->spans.data), go_spans_by_start);
	for (size_t i = 0; i < go->spans.len; i++) {
		struct go_span span = go->spans.data[i];
		if (!kept || span.start >= go->spans.data[kept - 1].end)
			go->spans.data[kept++] = span;
		else if (!broken.address)
			broken.address = span.start;
	}
	go->spans.len = kept;
	return !broken.address || heap_damage_vec_push(go->damage, broken);
}

static int by_range(const void *a, const void *b)
{
	const struct heap_range *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

/* Descriptions lie side by side. */
static void join_metadata(struct heap_ranges *metadata)
{
	size_t kept = 0;
	if (metadata->len)
		qsort(metadata->data, metadata->len, sizeof(*metadata->data), by_range);
	for (size_t i = 0; i < metadata->len; i++) {
		struct heap_range *last = kept ? &metadata->data[kept - 1] : NULL;
		if (last && metadata->data[i].start - last->start <=
				    last->end - last->start + METADATA_GAP)
			last->end = max(last->end, metadata->data[i].end);
		else
			metadata->data[kept++] = metadata->data[i];
	}
	metadata->len = kept;
}

/* Pages between spans, and after the last one in their mapping, are free: what is there is stale.
 * False: no memory. */
static bool note_free(struct go_spans *go)
{
	struct heap_ranges all = {.data = NULL};
	bool ok = true;
	for (size_t i = 0; i < go->spans.len && ok; i++) {
		struct heap_range one = {go->spans.data[i].start, go->spans.data[i].end};
		ok = heap_ranges_push(&all, one);
	}
	for (size_t i = 0; i < go->others.len && ok; i++)
		ok = heap_ranges_push(&all, go->others.data[i]);
	if (ok && all.len)
		qsort(all.data, all.len, sizeof(*all.data), by_range);
	for (uint64_t i = 0, end = 0; i < all.len && ok; i++) {
		end = max(end, all.data[i].end);
		const struct process_map *map = address_space_map(go->space, end - 1);
		struct heap_range gap = {end, map ? map->end : end};
		if (i + 1 < all.len && all.data[i + 1].start < gap.end)
			gap.end = all.data[i + 1].start;
		if (gap.end > gap.start)
			ok = heap_ranges_push(&go->metadata, gap);
	}
	heap_ranges_deinit(&all);
	return ok;
}

static bool is_used(const struct go_span *span, const uint8_t *bits, uint32_t element)
{
	return element < span->next || bits[element / 8] >> element % 8 & 1;
}

/* The bits of a span's elements. What can't be read is set: it may be used. False: there is such.
 */
static bool read_bits(struct page_cache *pages, const struct go_span *span, uint8_t *bits)
{
	size_t bytes = (span->elements + 7) / 8;
	size_t got = page_cache_read(pages, span->bits, bits, bytes);
	memset(bits + got, 0xff, bytes - got);
	return got == bytes;
}

static bool note_used(struct finding_spans *f)
{
	struct go_spans *go = f->go;
	uint8_t bits[GO_ELEMENTS_MAX / 8];
	struct heap_damage unread = {
		.what = "a Go span's allocation bits can't be read: all of it counts as used"};
	for (size_t i = 0; i < go->spans.len; i++) {
		const struct go_span *span = &go->spans.data[i];
		if (!read_bits(&f->pages, span, bits) && !unread.address)
			unread.address = span->start;
		for (uint32_t k = 0; k < span->elements; k++) {
			if (is_used(span, bits, k) &&
				!heap_addresses_push(&go->used, span->start + k * span->size))
				return false;
		}
	}
	return !unread.address || heap_damage_vec_push(go->damage, unread);
}

static struct error *go_spans_read(struct go_spans *go)
{
	const struct address_space *space = go->space;
	struct finding_spans f = {.go = go};
	_cleanup_free_ uint64_t *words = malloc(PORTION_BYTES);
	struct error *error = words ? page_cache_open(space, &f.pages) : error_no_memory();
	if (error)
		return error;
	bool found = false;
	struct heap_damage in_vain = {.what = "too many lists look like Go's spans but are not: "
					      "the search for a Go heap was given up"};
	for (size_t i = 0; i < space->maps.maps.len && !found && !f.failed; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		if (map->writable && address_space_module(space, map->start))
			found = look_in_map(&f, map, words);
		if (f.in_vain > GO_IN_VAIN_MAX && !in_vain.address)
			in_vain.address = map->start;
	}
	f.failed |= !found && in_vain.address && !heap_damage_vec_push(go->damage, in_vain);
	join_metadata(&go->metadata);
	f.failed |= found && (!put_in_order(go) || !note_used(&f) || !note_free(go));
	page_cache_close(&f.pages);
	return f.failed ? error_no_memory() : NULL;
}

static void go_spans_close(struct heap *heap)
{
	struct go_spans *go = &heap->go_spans;
	go_span_vec_deinit(&go->spans);
	heap_addresses_deinit(&go->used);
	heap_ranges_deinit(&go->others);
	heap_ranges_deinit(&go->metadata);
}

/* Runs of spans. */
static struct error *go_spans_areas(const struct go_spans *go, struct heap_area_vec *ret)
{
	struct heap_area area = {.allocator = HEAP_GO};
	bool ok = true;
	for (size_t i = 0; i < go->spans.len && ok; i++) {
		const struct go_span *span = &go->spans.data[i];
		if (!i || span->start != area.end) {
			ok = heap_areas_add(ret, &area);
			area.start = area.low = span->start;
			area.data = i;
		}
		area.end = area.high = span->end;
	}
	return ok && heap_areas_add(ret, &area) ? NULL : error_no_memory();
}

static struct error *go_spans_find(struct heap *heap)
{
	struct go_spans *go = &heap->go_spans;
	go->space = heap->space;
	go->damage = &heap->damage;
	struct error *error = go_spans_read(go);
	if (!error)
		error = go_spans_areas(go, &heap->areas);
	return error ? error : allocator_add_metadata(heap, &go->metadata);
}

const struct go_span *go_span_at(const struct go_spans *go, uint64_t address)
{
	size_t low = 0, high = go->spans.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (go->spans.data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct go_span *span = go->spans.data + low;
	return low < go->spans.len && address >= span->start ? span : NULL;
}

static struct error *report_span(const struct go_spans *go, const struct go_span *span,
	size_t *next, struct window *window, const struct heap_sink *sink)
{
	struct error *error = NULL;
	for (uint32_t i = 0; i < span->elements && !error; i++) {
		struct heap_block block = {span->start + i * span->size, span->size, BLOCK_FREE};
		size_t len = 0, some = (size_t)min(span->size, (uint64_t)WINDOW_BYTES);
		if (heap_addresses_next(&go->used, next, block.address))
			block.state = BLOCK_USED;
		const uint8_t *bytes = window_at(window, block.address, some, span->end);
		if (bytes)
			len = some;
		error = sink->take(sink->context, &block, bytes, len);
	}
	return error;
}

static struct error *go_spans_walk(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	const struct go_spans *go = &heap->go_spans;
	struct error *error = NULL;
	size_t next = heap_addresses_from(&go->used, area->start);
	for (size_t i = (size_t)area->data; i < go->spans.len && !error; i++) {
		const struct go_span *span = &go->spans.data[i];
		if (span->start >= area->end)
			break;
		if (span->start >= area->start && span->end <= area->end)
			error = report_span(go, span, &next, window, sink);
	}
	return error;
}

const struct allocator go_spans_allocator = {"Go spans", go_spans_find, go_spans_walk,
	go_spans_close, allocator_requested_quarters, NULL};
