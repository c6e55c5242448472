/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/allocators/ng_malloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "heap/allocators/allocator.h"

/* struct meta: the bits after the masks. */
#define BITS_LAST(bits) ((uint32_t)((bits)&31))
#define BITS_CLASS(bits) ((uint32_t)((bits) >> 6 & 63))
#define BITS_PAGES(bits) ((bits) >> 12)
#define CLASS_LARGE 63u
#define CLASSES 48u
#define MAPPING_BYTES_MAX (1ull << 47)

/* malloc.c, size_classes: units of a slot. */
static const uint16_t class_units[CLASSES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 31,
	36, 42, 50, 63, 72, 84, 102, 127, 146, 170, 204, 255, 292, 340, 409, 511, 584, 682, 818,
	1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191};

/* meta.h, get_stride(). False: no group is so. */
static bool ng_malloc_measure(struct ng_group *group, uint64_t bits)
{
	uint32_t class = BITS_CLASS(bits);
	uint64_t mapping = BITS_PAGES(bits) * NG_AREA_BYTES;
	group->slots = BITS_LAST(bits) + 1;
	if ((class >= CLASSES && class != CLASS_LARGE) || mapping > MAPPING_BYTES_MAX)
		return false;
	bool is_one = mapping && group->slots == 1;
	if (class == CLASS_LARGE && !is_one)
		return false;
	group->stride = is_one ? mapping - NG_UNIT : (uint64_t)class_units[class] * NG_UNIT;
	uint64_t all = NG_UNIT + group->slots * group->stride;
	group->bytes = mapping ? mapping : all;
	return all <= group->bytes && (group->slots == 1 || all <= WINDOW_BYTES);
}

bool ng_group_read(const struct address_space *space, uint64_t about, const uint64_t *words,
	struct ng_group *ret)
{
	uint64_t back, masks = words[NG_MASKS];
	*ret = (struct ng_group){.address = words[NG_GROUP], .about = about};
	if (!ret->address || ret->address % NG_UNIT || ret->address >> 47 ||
		!ng_malloc_measure(ret, words[NG_BITS]))
		return false;
	ret->free = ((uint32_t)masks | (uint32_t)(masks >> 32)) &
		    (uint32_t)((2ull << (ret->slots - 1)) - 1);
	const struct process_map *map = address_space_map(space, ret->address);
	uint64_t end = ret->address + ret->bytes;
	return map && (end <= map->end || address_space_joined_start(space, end) <= ret->address) &&
	       address_space_word(space, ret->address, &back) && back == about;
}

/* Adds the groups that an area describes. False: no memory. */
static bool read_area(struct ng_malloc *ng, uint64_t address)
{
	uint64_t words[NG_AREA_BYTES / 8], back;
	struct heap_range own = {address, address + NG_AREA_BYTES};
	if (!heap_ranges_push(&ng->metadata, own))
		return false;
	size_t count = address_space_read(ng->space, address, words, sizeof(words)) / 8;
	for (unsigned i = 0; i < NG_AREA_SLOTS; i++) {
		size_t at = NG_AREA_HEAD + (size_t)i * NG_WORDS;
		struct ng_group group;
		if (at + NG_WORDS > count)
			break;
		if (!words[at + NG_GROUP])
			continue; /* of none */
		struct heap_damage broken = {.address = address + 8 * at,
			.what = "a group of blocks does not lead to its description"};
		/* One that is just being given back leads nowhere. */
		if (ng_group_read(ng->space, address + 8 * at, words + at, &group)) {
			if (!ng_groups_push(&ng->groups, group))
				return false;
		} else if (address_space_word(ng->space, words[at + NG_GROUP], &back) && back &&
			   !heap_damage_vec_push(ng->damage, broken))
			return false;
	}
	return true;
}

static int ng_malloc_by_address(const void *a, const void *b)
{
	const struct ng_group *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static void ng_malloc_close(struct heap *heap)
{
	struct ng_malloc *ng = &heap->ng_malloc;
	heap_addresses_deinit(&ng->areas);
	ng_groups_deinit(&ng->groups);
	heap_ranges_deinit(&ng->metadata);
}

/* The number of the first group from number `i` on that does not begin before an address. */
static size_t group_from(const struct ng_malloc *ng, size_t i, uint64_t address)
{
	while (i < ng->groups.len && ng->groups.data[i].address < address)
		i++;
	return i;
}

static struct error *ng_malloc_areas(const struct ng_malloc *ng, struct heap_area_vec *ret)
{
	struct heap_area area = {.allocator = HEAP_MALLOCNG};
	for (size_t i = 0; i < ng->groups.len; i = group_from(ng, i + 1, area.end)) {
		const struct ng_group *group = &ng->groups.data[i];
		if (group->address != area.end) {
			if (!heap_areas_add(ret, &area))
				return error_no_memory();
			area.start = area.low = group->address;
			area.data = i;
		}
		area.end = area.high = group->address + group->bytes;
	}
	return heap_areas_add(ret, &area) ? NULL : error_no_memory();
}

/* Finds the areas and groups in memory that no other allocator has. */
static struct error *ng_malloc_find(struct heap *heap)
{
	struct ng_malloc *ng = &heap->ng_malloc;
	ng->space = heap->space;
	ng->damage = &heap->damage;
	struct error *error = ng_context_find(ng, &heap->areas);
	bool ok = true;
	for (size_t i = 0; !error && ok && i < ng->areas.len; i++)
		ok = read_area(ng, ng->areas.data[i]);
	if (ng->groups.len)
		qsort(ng->groups.data, ng->groups.len, sizeof(*ng->groups.data),
			ng_malloc_by_address);
	if (!error)
		error = ok ? ng_malloc_areas(ng, &heap->areas) : error_no_memory();
	return error ? error : allocator_add_metadata(heap, &ng->metadata);
}

/* Headers of slots and blocks: bits of the byte 3 before them. */
#define HEADER_INDEX(byte) ((byte)&31u)
#define HEADER_SPARE(byte) ((byte) >> 5)
#define SPARE_FAR 5u       /* how much is spare is at the slot's end */
#define SPARE_GROUP 6u     /* a group lies there */
#define HEADER_MOVED 0xe0u /* the block begins further on: of a slot */
#define HEADER_FREED 0xffu
#define OFFSET_MAX 0xffffu

struct walk {
	const struct ng_malloc *ng;
	struct window *window;
	const struct heap_sink *sink;
	size_t next;              /* group: those before are reported, or were left out */
	struct heap_block before; /* reported last */
	const uint8_t *bytes;     /* of a mapping, from `start` on */
	uint64_t start;
	size_t len;
};

struct slot {
	uint64_t storage; /* of the group: its first slot */
	uint64_t start, end;
	uint32_t number;
};

enum found { FOUND_BLOCK, FOUND_GROUP, FOUND_BEGUN, FOUND_BROKEN };

static bool ng_malloc_read_bytes(const struct walk *w, uint64_t address, void *ret, size_t bytes)
{
	if (address < w->start || address - w->start + bytes > w->len)
		return address_space_read(w->ng->space, address, ret, bytes) == bytes;
	memcpy(ret, w->bytes + (address - w->start), bytes);
	return true;
}

static uint32_t half_at(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8;
}

static uint32_t word_at(const uint8_t *at)
{
	return half_at(at) | half_at(at + 2) << 16;
}

/* Whether a block begins there by the 8 bytes before it. */
static bool ng_malloc_is_block(const struct slot *slot, uint64_t block, const uint8_t *header)
{
	uint64_t units = (block - slot->storage) / NG_UNIT;
	uint32_t near = half_at(header + 6), far = word_at(header);
	return HEADER_INDEX(header[5]) == slot->number &&
	       (header[4] ? !near && far > OFFSET_MAX && far == units : near == units);
}

/* Where in a slot that is in use its block begins; fills header, the 8 bytes before it. */
static enum found find_block(
	const struct walk *w, const struct slot *slot, uint64_t *ret, uint8_t *header)
{
	*ret = slot->start;
	if (!ng_malloc_read_bytes(w, *ret - 8, header, 8))
		return FOUND_BROKEN;
	if (header[5] == HEADER_MOVED) {
		/* Of very large alignments the lower bits are there (aligned_alloc.c). */
		uint64_t units = half_at(header + 6);
		*ret += (units ? units : OFFSET_MAX + 1ull) * NG_UNIT;
		for (; *ret < slot->end; *ret += (OFFSET_MAX + 1ull) * NG_UNIT) {
			if (!ng_malloc_read_bytes(w, *ret - 8, header, 8))
				return FOUND_BROKEN;
			if (ng_malloc_is_block(slot, *ret, header))
				break;
			if (header[5] == HEADER_FREED)
				return FOUND_BEGUN;
		}
		if (*ret >= slot->end)
			return FOUND_BROKEN;
	}
	if (header[5] == HEADER_FREED || !word_at(header + 4))
		return slot->number || header[5] ? FOUND_BEGUN : FOUND_BLOCK;
	if (!ng_malloc_is_block(slot, *ret, header))
		return FOUND_BROKEN;
	return HEADER_SPARE(header[5]) == SPARE_GROUP ? FOUND_GROUP : FOUND_BLOCK;
}

static struct error *ng_malloc_report(struct walk *w, const struct heap_block *block)
{
	bool at_hand = block->address >= w->start && block->address - w->start <= w->len;
	size_t into = at_hand ? (size_t)(block->address - w->start) : 0;
	size_t len = at_hand ? w->len - into : 0;
	w->before = *block;
	return w->sink->take(w->sink->context, block, at_hand ? w->bytes + into : NULL,
		len < block->size ? len : (size_t)block->size);
}

static bool ng_malloc_add_damage(struct walk *w, uint64_t address, uint64_t bytes, const char *what)
{
	struct heap_damage damage = {.address = address,
		.bytes = bytes,
		.before = w->before.address,
		.before_size = w->before.size,
		.what = what};
	return heap_damage_vec_push(w->ng->damage, damage);
}

/* meta.h, get_nominal_size(): what a block was asked for is up to the spare bytes. */
static struct error *report_used(
	struct walk *w, const struct slot *slot, uint64_t address, unsigned spare)
{
	struct heap_block block = {address, slot->end - address, BLOCK_USED};
	uint32_t bytes = spare;
	uint8_t after[2] = {0, 0};
	bool known =
		spare < SPARE_FAR || ng_malloc_read_bytes(w, slot->end - 4, &bytes, sizeof(bytes));
	bool right = !known || ((spare < SPARE_FAR || (spare == SPARE_FAR && bytes >= SPARE_FAR)) &&
				       bytes <= block.size);
	block.size -= known && right ? bytes : 0;
	struct error *error = ng_malloc_report(w, &block);
	/* It ends in a byte that is 0, as does its slot. */
	if (!known || !ng_malloc_read_bytes(w, block.address + block.size, &after[0], 1) ||
		!ng_malloc_read_bytes(w, slot->end, &after[1], 1))
		return error;
	if (!error && (!right || after[0] || after[1]) &&
		!ng_malloc_add_damage(
			w, block.address + block.size, 0, "a block was written beyond its end"))
		return error_no_memory();
	return error;
}

static struct error *report_group(struct walk *w, const struct ng_group *group);

/* A slot that is a group itself: the one that lies in it. */
static struct error *report_inner(struct walk *w, const struct slot *slot)
{
	const struct ng_groups *groups = &w->ng->groups;
	w->next = group_from(w->ng, w->next, slot->start);
	const struct ng_group *inner = w->next < groups->len ? &groups->data[w->next] : NULL;
	/* One that is just being made has no description yet. */
	if (!inner || inner->address >= slot->end ||
		inner->bytes > slot->end + NG_HEADER - inner->address)
		return NULL;
	w->next++;
	return report_group(w, inner);
}

static struct error *report_slot(struct walk *w, const struct ng_group *group, uint32_t number)
{
	uint64_t storage = group->address + NG_UNIT, start = storage + number * group->stride;
	struct slot slot = {storage, start, start + group->stride - NG_HEADER, number};
	struct heap_block whole = {start, slot.end - start, BLOCK_FREE};
	uint8_t header[8];
	uint64_t address;
	if (group->free >> number & 1)
		return ng_malloc_report(w, &whole);
	enum found found = find_block(w, &slot, &address, header);
	if (found == FOUND_BLOCK)
		return report_used(w, &slot, address, HEADER_SPARE(header[5]));
	if (found == FOUND_GROUP)
		return report_inner(w, &slot);
	if (found == FOUND_BROKEN &&
		!ng_malloc_add_damage(w, start - NG_HEADER, 0, "a block's header was overwritten"))
		return error_no_memory();
	whole.state = BLOCK_USED;
	return ng_malloc_report(w, &whole);
}

static struct error *report_group(struct walk *w, const struct ng_group *group)
{
	struct error *error = NULL;
	for (uint32_t i = 0; i < group->slots && !error; i++)
		error = report_slot(w, group, i);
	w->next = group_from(w->ng, w->next, group->address + group->bytes);
	return error;
}

/* Has the loaded part of a mapping's beginning; of small groups all of it. */
static bool ng_malloc_load(struct walk *w, const struct ng_group *group, uint64_t end)
{
	uint64_t all = NG_UNIT + group->slots * group->stride;
	size_t least = all <= WINDOW_BYTES ? (size_t)all : 2ul * NG_UNIT;
	w->start = group->address;
	w->bytes = window_at(w->window, group->address, least, end);
	if (w->bytes)
		window_peek(w->window, group->address, all, &w->len);
	w->before = (struct heap_block){0, 0, BLOCK_FREE};
	return w->bytes;
}

static struct error *ng_malloc_walk(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	const struct ng_malloc *ng = &heap->ng_malloc;
	struct walk w = {.ng = ng, .window = window, .sink = sink, .next = area->data};
	struct error *error = NULL;
	while (w.next < ng->groups.len && !error) {
		const struct ng_group *group = &ng->groups.data[w.next];
		if (group->address >= area->end)
			break;
		w.next++;
		if (group->address < area->start || group->bytes > area->end - group->address ||
			!ng_malloc_load(&w, group, area->end)) /* another's, or missing */
			w.next = group_from(ng, w.next, group->address + group->bytes);
		else
			error = report_group(&w, group);
	}
	return error;
}

static void ng_malloc_refused(const struct heap *heap, struct text *text)
{
	text_printf(text,
		"%zu of whose areas of descriptions are there, none with a group of blocks that "
		"leads back",
		heap->ng_malloc.areas.len);
}

/* Slots have what was requested. */
const struct allocator ng_malloc_allocator = {
	"musl mallocng", ng_malloc_find, ng_malloc_walk, ng_malloc_close, NULL, ng_malloc_refused};
