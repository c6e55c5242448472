/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/util.h"

#define WINDOW_BYTES (256u << 10)
/* Data of a program that is looked at. */
#define SCANNED_MOST (256ull << 20)

struct search {
	const struct attach_plan *plan;
	struct kept_pointers *ret;
	struct linked_slot_vec *found; /* words that may be changed; NULL: nobody asks */
	bool failed;                   /* no memory for them */
	uint64_t *window;
	uint64_t *slots; /* addresses, ascending */
	uint64_t scanned;
};

static int compare_words(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;
	return (*one > *other) - (*one < *other);
}

/* Addresses of references, so that they are not counted. */
static bool list_slots(struct search *s)
{
	const struct linked_slot_vec *slots = &s->plan->slots;
	s->slots = calloc(slots->len + 1, sizeof(*s->slots));
	for (size_t i = 0; s->slots && i < slots->len; i++)
		s->slots[i] = slots->data[i].address;
	if (s->slots)
		qsort(s->slots, slots->len, sizeof(*s->slots), compare_words);
	return s->slots;
}

static bool is_slot(const struct search *s, uint64_t address)
{
	return bsearch(&address, s->slots, s->plan->slots.len, sizeof(*s->slots), compare_words);
}

/* dlclose and fork allocate nothing. */
static bool is_allocating(const struct attach_plan *plan, uint64_t word)
{
	for (unsigned i = 0; i < HW_ATTACH_FORK; i++) {
		if (word == plan->real[i] && word && i != HW_ATTACH_DLCLOSE)
			return true;
	}
	return false;
}

/* The function at an address; HW_ATTACH_FUNCTIONS: which one a call there means is not known, since
 * several are one. Of malloc's family it makes no difference. */
static size_t function_at(const struct attach_plan *plan, uint64_t address)
{
	size_t found = HW_ATTACH_FUNCTIONS;
	for (size_t i = 0; i < HW_ATTACH_FORK; i++) {
		if (plan->real[i] != address)
			continue;
		if (found != HW_ATTACH_FUNCTIONS)
			return i < HW_ATTACH_NEW ? found : HW_ATTACH_FUNCTIONS;
		found = i;
	}
	return found;
}

static void add_word(struct search *s, const struct process_map *map, uint64_t at, uint64_t word)
{
	struct linked_slot slot = {
		.address = at, .value = word, .function = function_at(s->plan, word)};
	if (s->found && map->writable && slot.function != HW_ATTACH_FUNCTIONS &&
		!linked_slot_vec_push(s->found, slot))
		s->failed = true;
}

static void count_word(struct search *s, const char *path)
{
	struct kept_pointers *ret = s->ret;
	ret->words++;
	size_t named = min(ret->objects, (size_t)KEPT_NAMED_MAX);
	for (size_t i = 0; i < named; i++) {
		if (!strcmp(ret->named[i].path, path)) {
			ret->named[i].words++;
			return;
		}
	}
	if (ret->objects < KEPT_NAMED_MAX) {
		ret->named[ret->objects].path = path;
		ret->named[ret->objects].words = 1;
	}
	ret->objects++;
}

static void search_map(struct search *s, const struct process_map *map, const char *path)
{
	for (uint64_t at = map->start; at < map->end; at += WINDOW_BYTES) {
		size_t bytes = min((size_t)(map->end - at), (size_t)WINDOW_BYTES);
		if (s->scanned + bytes > SCANNED_MOST) {
			s->ret->partial = true;
			return;
		}
		s->scanned += bytes;
		size_t got = process_memory_read(&s->plan->objects.memory, at, s->window, bytes);
		for (size_t i = 0; i < got / 8; i++) {
			uint64_t word = s->window[i];
			if (!is_allocating(s->plan, word) || is_slot(s, at + 8 * i))
				continue;
			count_word(s, path);
			add_word(s, map, at + 8 * i, word);
		}
	}
}

/* The linker has its own copies, and calls by them under its lock; an allocator calls itself. */
static bool is_left_alone(const struct attach_plan *plan, const char *path)
{
	return !strcmp(path, plan->allocator) || !strncmp(path_last_part(path), "ld-", 3) ||
	       strstr(path, "/memfd:" HW_ATTACH_NAME);
}

/* Returns false if there is no memory for what was found. */
static bool search_data(
	const struct attach_plan *plan, struct kept_pointers *ret, struct linked_slot_vec *found)
{
	*ret = (struct kept_pointers){.words = 0};
	_cleanup_free_ uint64_t *window = malloc(WINDOW_BYTES);
	struct search s = {.plan = plan, .ret = ret, .found = found, .window = window};
	if (!window || !list_slots(&s)) {
		ret->partial = true;
		return false;
	}
	const struct process_map_vec *maps = &plan->objects.maps.maps;
	const char *path = NULL; /* of the file whose data ended where this mapping begins */
	uint64_t end = 0;
	for (size_t i = 0; i < maps->len; i++) {
		const struct process_map *map = &maps->data[i];
		bool is_bss = !*map->path && path && map->start == end && map->writable;
		if (*map->path == '/')
			path = map->path;
		else if (!is_bss)
			path = NULL;
		end = map->end;
		if (path && map->readable && !map->executable && !map->shared &&
			(map->inode || is_bss) && !is_left_alone(plan, path))
			search_map(&s, map, path);
	}
	free(s.slots);
	return !s.failed;
}

void kept_pointers_find(const struct attach_plan *plan, struct kept_pointers *ret)
{
	(void)!search_data(plan, ret, NULL);
}

struct error *kept_pointers_take(struct attach_plan *plan)
{
	struct kept_pointers all;
	struct linked_slot_vec found = {.data = NULL};
	bool ok = search_data(plan, &all, &found);
	for (size_t i = 0; i < found.len && ok; i++)
		ok = linked_slot_vec_push(&plan->slots, found.data[i]);
	plan->pointers = found.len;
	linked_slot_vec_deinit(&found);
	if (!ok)
		return error_no_memory();
	if (plan->slots.len > HW_ATTACH_SLOTS_MAX)
		return error_create(ERROR_INPUT,
			"process %d has %zu references to functions of its allocator and %zu "
			"words that hold such addresses, more than the %u that can be changed; "
			"without --patch-pointers the latter stay as they are",
			(int)plan->pid, plan->slots.len - plan->pointers, plan->pointers,
			HW_ATTACH_SLOTS_MAX);
	return NULL;
}
