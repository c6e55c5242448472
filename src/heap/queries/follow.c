/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/follow.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/text.h"
#include "base/util.h"

/* What leads through other types: arrays of containers of pointers. */
#define SETTLE_DEPTH_MOST 8u
/* Names in a message, and how much of each is compared. */
#define NAMES_MOST 8u
#define NAME_BYTES_MOST 64u
/* Members that are looked at for that. */
#define MEMBERS_MOST 65536u

/* Packed: there are as many as objects. */
struct follow_key {
	uint64_t address;
	uint32_t type;
} __attribute__((packed, aligned(4)));
static inline uint64_t follow_key_hash(struct follow_key key)
{
	return hash_u64(key.address ^ (uint64_t)key.type << 48);
}
static inline bool follow_key_equal(struct follow_key a, struct follow_key b)
{
	return a.address == b.address && a.type == b.type;
}
DEFINE_MAP(follow_map, struct follow_key, uint8_t, follow_key_hash, follow_key_equal)

#define PAGE_BYTES 4096u

/* What a step comes to; each object once. Most objects are what their blocks are: of those a bit
 * for each block says that they were reached, which takes less memory and time than a table. */
struct reached {
	struct follow *follow;
	struct follow_map known;
	uint64_t *whole; /* bit set of blocks; NULL: none yet */
	bool is_first;   /* its blocks are added once each */
	struct follow_places places;
	uint64_t page;     /* where the loaded memory begins */
	size_t page_bytes; /* that could be read of it */
	uint8_t *memory;   /* PAGE_BYTES of the step's */
	struct {
		bool is_known, is_there;
		uint32_t of, type;
		uint64_t offset;
	} member; /* the step's, of the type that had it last */
};

/* As address_space_word(). Objects mostly lie one after another, so pages are read. */
static bool follow_read_word(struct reached *r, uint64_t address, uint64_t *ret)
{
	const struct address_space *space = r->follow->scan->heap.space;
	uint64_t into = address % PAGE_BYTES, page = address - into;
	if (!r->page_bytes || r->page != page) {
		r->page = page;
		r->page_bytes = address_space_read(space, page, r->memory, PAGE_BYTES);
	}
	if (into + sizeof(*ret) > r->page_bytes)
		return address_space_word(space, address, ret);
	memcpy(ret, r->memory + into, sizeof(*ret));
	return true;
}

void follow_init(struct follow *follow, const struct heap_scan *scan)
{
	*follow = (struct follow){.scan = scan, .types = scan->layouts.types};
}

void follow_deinit(struct follow *follow)
{
	follow_places_deinit(&follow->at);
}

void follow_add_object(struct follow *follow, uint64_t address, uint32_t type)
{
	struct follow_place place = {address, type};
	follow->failed |= !follow_places_push(&follow->at, place);
}

/* The pool that a block is, and nothing else; NULL: it is none. */
static const struct pool *pool_of(const struct heap_scan *s, uint32_t block)
{
	struct heap_layout layout;
	const struct pool *pool = pools_find(&s->pools, block);
	return pool && heap_layout_of(s, block, &layout) ? NULL : pool;
}

static void follow_add_place(struct reached *r, uint64_t address, uint32_t type)
{
	struct follow_place place = {address, type};
	if (!follow_places_push(&r->places, place))
		r->follow->failed = true;
}

/* A block that is one object, or of unknown type. */
static void reach_whole(struct reached *r, uint32_t block, uint64_t address, uint32_t type)
{
	uint64_t bit = 1ull << block % 64;
	if (!r->is_first && !r->whole)
		r->whole = calloc(
			search_block_count(r->follow->scan->search) / 64 + 1, sizeof(*r->whole));
	if (!r->is_first && !r->whole) {
		r->follow->failed = true;
		return;
	}
	if (!r->is_first && r->whole[block / 64] & bit)
		return;
	if (!r->is_first)
		r->whole[block / 64] |= bit;
	follow_add_place(r, address, type);
}

/* Whether a block is one object, from its start on; of which type, plain: TYPE_VOID: unknown.
 */
static bool is_whole(const struct reached *r, uint32_t block, uint32_t *ret_type)
{
	struct heap_layout layout;
	const struct heap_scan *s = r->follow->scan;
	*ret_type = TYPE_VOID;
	if (pool_of(s, block))
		return false;
	if (!heap_layout_of(s, block, &layout) || layout.type == TYPE_VOID)
		return true;
	*ret_type = types_plain(r->follow->types, layout.type);
	return !layout.is_array && !layout.header;
}

static void follow_reach(struct reached *r, uint64_t address, uint32_t type)
{
	struct follow_key key = {address, type};
	uint64_t into;
	uint32_t own, block = search_block_at(r->follow->scan->search, address, &into);
	bool is_new = r->is_first;
	if (block != SPACE_NONE && !into && is_whole(r, block, &own) && own == type) {
		reach_whole(r, block, address, type);
		return;
	}
	if (!r->is_first && !follow_map_insert(&r->known, key, &is_new))
		r->follow->failed = true;
	if (is_new)
		follow_add_place(r, address, type);
}

/* What lies in a pool. */
static void reach_pool(struct reached *r, uint32_t block, const struct pool *pool)
{
	const struct heap_scan *s = r->follow->scan;
	const struct pool_object *objects = s->pools.objects.data + pool->first;
	uint64_t address = search_block_address(s->search, block);
	for (size_t i = 0; i < pool->count && !r->follow->failed; i++)
		follow_reach(r, address + objects[i].offset, objects[i].type);
}

/* The objects that a block is: of an array its elements, of a pool what lies in it. */
static void reach_block(struct reached *r, uint32_t block)
{
	struct heap_layout layout;
	const struct heap_scan *s = r->follow->scan;
	uint64_t address = search_block_address(s->search, block);
	const struct pool *pool = pool_of(s, block);
	uint32_t type;
	if (is_whole(r, block, &type)) {
		reach_whole(r, block, address, type);
		return;
	}
	if (pool) {
		reach_pool(r, block, pool);
		return;
	}
	if (!heap_layout_of(s, block, &layout))
		return;
	const struct type *of =
		types_get(r->follow->types, types_plain(r->follow->types, layout.type));
	/* Numbers and characters lead nowhere: they are one thing. */
	bool leads = type_has_members(of) || of->kind == TYPE_POINTER || of->kind == TYPE_ARRAY;
	uint64_t count = layout.is_array && leads ? layout.count : 1;
	for (uint64_t i = 0; i < count && !r->follow->failed; i++)
		follow_reach(r, address + layout.header + i * layout.size,
			types_plain(r->follow->types, layout.type));
}

void follow_add(struct follow *follow, uint32_t block)
{
	struct reached r = {.follow = follow, .is_first = true, .places = follow->at};
	reach_block(&r, block);
	follow->at = r.places;
}

bool follow_add_from_pool(struct follow *follow, uint32_t block, uint32_t type)
{
	const struct heap_scan *s = follow->scan;
	const struct pool *pool = pools_find(&s->pools, block);
	size_t before = follow->at.len;
	for (size_t i = 0; pool && i < pool->count; i++) {
		const struct pool_object *object = &s->pools.objects.data[pool->first + i];
		if (types_are_same(follow->types, object->type, type))
			follow_add_object(follow,
				search_block_address(s->search, block) + object->offset,
				object->type);
	}
	return follow->at.len > before;
}

static void follow_settle(
	struct reached *r, uint32_t type, uint64_t address, uint64_t room, unsigned depth);

/* How much memory lies after an address, up to the end of its block, or of its mapping: no
 * declaration says of more elements that they are there. */
static uint64_t room_at(const struct heap_scan *s, uint64_t address)
{
	uint64_t into;
	uint32_t block = search_block_at(s->search, address, &into);
	if (block != SPACE_NONE)
		return search_block_size(s->search, block) - into;
	const struct process_map *map = address_space_map(s->heap.space, address);
	return map ? map->end - address : 0;
}

/* Elements that begin where there is memory. */
static uint64_t count_in(uint64_t count, uint64_t size, uint64_t room)
{
	return size ? min(count, room / size + (room % size != 0)) : 0;
}

/* What a pointer leads to: the block's own type says more than the declaration, unless it leads
 * into its middle, or to what a pool begins with. */
static void settle_pointer(struct reached *r, uint32_t plain, uint64_t address)
{
	const struct heap_scan *s = r->follow->scan;
	uint64_t value, into;
	if (!follow_read_word(r, address, &value) || !value) {
		r->follow->nulls++;
		return;
	}
	uint32_t block = search_block_at(s->search, value, &into);
	if (block == SPACE_NONE) {
		r->follow->outside++;
		return;
	}
	uint32_t target = types_plain(r->follow->types, types_target(r->follow->types, plain));
	bool is_part = into || pool_of(s, block);
	if (is_part && type_has_members(types_get(r->follow->types, target)))
		follow_reach(r, value, target);
	else if (is_part)
		follow_reach(r, value, TYPE_VOID);
	else
		reach_block(r, block);
}

struct settling {
	struct reached *reached;
	uint64_t size; /* of an element */
	unsigned depth;
};

static bool settle_element(void *context, uint64_t number, uint32_t type, uint64_t address)
{
	struct settling *settling = context;
	(void)number;
	follow_settle(settling->reached, type, address, settling->size, settling->depth + 1);
	return !settling->reached->follow->failed;
}

static void settle_contents(struct reached *r, const struct contents *c, unsigned depth)
{
	struct follow *f = r->follow;
	uint64_t size = types_get(f->types, types_plain(f->types, c->type))->size;
	bool differ = c->kind == CONTENTS_PARTS || contents_are_apart(c);
	struct settling settling = {r, differ ? UINT64_MAX : size, depth};
	if (c->kind == CONTENTS_POINTER) {
		settle_pointer(r, c->type, c->address);
	} else if (c->kind == CONTENTS_ONE) {
		if (c->is_empty)
			f->nulls++;
		else if (c->type != TYPE_VOID)
			follow_settle(r, c->type, c->address, size, depth + 1);
	} else if (c->kind == CONTENTS_TEXT || c->kind == CONTENTS_BITS) {
		follow_reach(r, c->address, TYPE_VOID);
	} else if (contents_is_counted(c) || c->kind == CONTENTS_PARTS) {
		bool is_flat = contents_is_counted(c) && c->way == CONTENTS_IN_ORDER;
		uint64_t most = is_flat ? count_in(c->count, size, room_at(f->scan, c->address))
					: UINT64_MAX;
		uint64_t seen =
			contents_each(f->scan, f->types, c, most, settle_element, &settling);
		f->broken += seen < c->count;
	}
}

/* As many elements as begin where there is memory; returns how many. */
static uint64_t settle_elements(struct reached *r, uint32_t element, uint64_t count,
	uint64_t address, uint64_t room, unsigned depth)
{
	struct types *types = r->follow->types;
	uint64_t size = types_get(types, types_plain(types, element))->size;
	room = min(room, room_at(r->follow->scan, address));
	count = count_in(count, size, room);
	for (uint64_t i = 0; i < count && !r->follow->failed; i++)
		follow_settle(
			r, element, address + i * size, min(size, room - i * size), depth + 1);
	return size ? count : UINT64_MAX;
}

static void settle_array(struct reached *r, const struct type *array, uint64_t address,
	uint64_t room, unsigned depth)
{
	r->follow->broken += settle_elements(r, array->target, array->count, address, room, depth) <
			     array->count;
}

/* Where an object that a member is leads to, which lies in so much memory. */
static void follow_settle(
	struct reached *r, uint32_t type, uint64_t address, uint64_t room, unsigned depth)
{
	struct types *types = r->follow->types;
	uint32_t plain = types_plain(types, type);
	uint32_t content = types_content(types, plain);
	plain = content == TYPE_VOID ? plain : types_plain(types, content);
	struct type of = *types_get(types, plain);
	struct contents contents;
	if (depth > SETTLE_DEPTH_MOST)
		r->follow->broken++;
	else if (of.kind == TYPE_POINTER || of.kind == TYPE_REFERENCE) {
		settle_pointer(r, plain, address);
	} else if (of.kind == TYPE_ARRAY) {
		settle_array(r, &of, address, room, depth);
	} else if (contents_read(r->follow->scan, types, plain, address, &contents)) {
		settle_contents(r, &contents, depth);
	} else {
		follow_reach(r, address, plain);
	}
}

/* An object that is itself a pointer or a container (an array's element) leads on before it is
 * asked for members. */
static bool leads_on(struct follow *f, uint32_t plain)
{
	const struct type *type = types_get(f->types, plain);
	return type->kind == TYPE_POINTER || contents_knows(f->types, plain);
}

static void lead_on(struct reached *r, const struct follow_places *from)
{
	for (size_t i = 0; i < from->len && !r->follow->failed; i++) {
		const struct follow_place *place = &from->data[i];
		if (place->type != TYPE_VOID && leads_on(r->follow, place->type))
			follow_settle(r, place->type, place->address, UINT64_MAX, 0);
		else
			follow_reach(r, place->address, place->type);
	}
}

/* Goes along the member from one place. Whether it has one. */
static bool follow_go(struct reached *r, const struct follow_place *place, const char *member)
{
	struct follow *f = r->follow;
	if (place->type == TYPE_VOID)
		return false;
	/* Objects mostly are of one type. */
	if (!r->member.is_known || r->member.of != place->type) {
		r->member.of = place->type;
		r->member.is_known = true;
		r->member.is_there = contents_member(
			f->types, place->type, member, &r->member.offset, &r->member.type);
	}
	if (!r->member.is_there)
		return false;
	uint64_t offset = r->member.offset;
	uint32_t type = r->member.type;
	uint64_t address = place->address + offset, open_at;
	uint32_t element;
	/* One without an end at the end of a structure has as many as its block. */
	if (types_open_end(f->types, place->type, &element, &open_at, NULL) && open_at == offset)
		settle_elements(r, element, UINT64_MAX, address, UINT64_MAX, 0);
	else
		follow_settle(r, type, address, UINT64_MAX, 0);
	return true;
}

struct near {
	const char *name;
	size_t distance;
};
DEFINE_VEC(nears, struct near)

static char follow_small(char c)
{
	return (char)tolower((unsigned char)c);
}

/* Levenshtein's distance, of large and small letters alike; a name that has the whole word in it is
 * near. */
static size_t distance_of(const char *name, const char *word)
{
	size_t row[NAME_BYTES_MOST + 1], len = strnlen(name, NAME_BYTES_MOST);
	if (strcasestr(name, word))
		return 1;
	for (size_t i = 0; i <= len; i++)
		row[i] = i;
	for (size_t k = 0; word[k] && k < NAME_BYTES_MOST; k++) {
		size_t diagonal = row[0];
		row[0] = k + 1;
		for (size_t i = 0; i < len; i++) {
			size_t changed =
				diagonal + (follow_small(name[i]) != follow_small(word[k]));
			diagonal = row[i + 1];
			row[i + 1] = min(changed, min(row[i], row[i + 1]) + 1);
		}
	}
	return row[len];
}

/* `steps`: members that were looked at. */
static void find_names(struct follow *f, uint32_t plain, const char *word, unsigned depth,
	unsigned *steps, struct nears *ret)
{
	struct type type = *types_get(f->types, plain);
	for (uint32_t i = 0;
		type_has_members(&type) && i < type.member_count && ++*steps <= MEMBERS_MOST; i++) {
		const struct type_member *member = &type.members[i];
		if (member->kind == MEMBER_BASE || !member->name) {
			if (depth < TYPES_DEPTH_MAX)
				find_names(f, types_plain(f->types, member->type), word, depth + 1,
					steps, ret);
		} else if (member->kind == MEMBER_PLAIN) {
			struct near near = {member->name, distance_of(member->name, word)};
			f->failed |= !nears_push(ret, near);
		}
	}
}

static int by_distance(const void *a, const void *b)
{
	const struct near *x = a, *y = b;
	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Names that several members have count once. */
static void leave_unique(struct nears *found)
{
	size_t kept = 0;
	for (size_t i = 0; i < found->len; i++) {
		if (!kept || strcmp(found->data[kept - 1].name, found->data[i].name) != 0)
			found->data[kept++] = found->data[i];
	}
	found->len = kept;
}

/* Adds the members that are nearest to a word: of few all, of many those that may be meant. */
static void follow_add_names(struct follow *f, uint32_t plain, const char *word, struct text *text)
{
	_cleanup_(nears_deinit) struct nears found = {.data = NULL};
	unsigned steps = 0;
	find_names(f, plain, word, 0, &steps, &found);
	if (found.len)
		qsort(found.data, found.len, sizeof(*found.data), by_distance);
	leave_unique(&found);
	size_t shown = min(found.len, (size_t)NAMES_MOST);
	for (size_t i = 0; i < shown; i++) {
		text_add(text, i ? ", " : "");
		text_add_shown(text, found.data[i].name, 100);
	}
	if (steps > MEMBERS_MOST)
		text_printf(text, " (of the first %u members; there are more)", MEMBERS_MOST);
	else if (found.len > shown)
		text_printf(text, " (of %zu)", found.len);
}

/* Which members there are of the first object that has some. */
static struct error *no_member(struct follow *f, const struct follow_places *at, const char *member)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	size_t i = 0;
	while (i < at->len && (at->data[i].type == TYPE_VOID ||
				      !type_has_members(types_get(f->types, at->data[i].type))))
		i++;
	if (i == at->len)
		return error_create(ERROR_INPUT,
			"nothing has members there: debug information does not "
			"describe these types, or they are not structures");
	const char *name = types_get(f->types, at->data[i].type)->name;
	follow_add_names(f, at->data[i].type, member, &text);
	if (f->failed)
		return error_no_memory();
	return error_create(ERROR_INPUT, "%s has no member '%s'; did you mean one of %s",
		name ? name : "it", member, text.data ? text.data : "(none)");
}

struct error *follow_step(struct follow *follow, const char *member, bool repeats)
{
	uint8_t memory[2][PAGE_BYTES];
	struct reached from = {.follow = follow, .memory = memory[0]};
	struct reached to = {.follow = follow, .memory = memory[1]};
	struct error *error = NULL;
	bool has_any = false;
	follow_map_init(&from.known);
	follow_map_init(&to.known);
	lead_on(&from, &follow->at);
	struct reached *into = repeats ? &from : &to;
	/* What is new in `from` is gone along as well, if it repeats. */
	for (size_t i = 0; i < from.places.len && !follow->failed; i++) {
		struct follow_place place = from.places.data[i];
		bool has = follow_go(into, &place, member);
		has_any |= has;
		follow->memberless += !has;
	}
	if (!has_any && from.places.len && !follow->failed)
		error = no_member(follow, &from.places, member);
	struct follow_places *result = &into->places;
	if (!error && !follow->failed) {
		struct follow_places old = follow->at;
		follow->at = *result;
		*result = old;
	}
	follow_places_deinit(&from.places);
	follow_places_deinit(&to.places);
	follow_map_deinit(&from.known);
	follow_map_deinit(&to.known);
	free(from.whole);
	free(to.whole);
	return error || !follow->failed ? error : error_no_memory();
}

uint64_t *follow_blocks(const struct follow *follow)
{
	const struct heap_scan *s = follow->scan;
	uint64_t *set = calloc(search_block_count(s->search) / 64 + 1, sizeof(*set)), into;
	for (size_t i = 0; set && i < follow->at.len; i++) {
		uint32_t block = search_block_at(s->search, follow->at.data[i].address, &into);
		if (block != SPACE_NONE)
			set[block / 64] |= 1ull << block % 64;
	}
	return set;
}
