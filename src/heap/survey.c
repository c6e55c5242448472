/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/survey.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/containers.h"
#include "heap/cxx.h"
#include "heap/inferred.h"
#include "heap/python_types.h"

static struct error *take(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct survey *s = context;
	s->totals.blocks[block->state]++;
	s->totals.bytes[block->state] += block->size;
	if (block->state != BLOCK_USED)
		return NULL;
	uint32_t number;
	struct error *error = heap_classes_add(&s->classes, block, bytes, len, &number);
	return error ? error : search_add_block(s->search, block->address, block->size, number);
}

static size_t read_memory(void *context, uint64_t address, void *ret, size_t bytes)
{
	return address_space_read(context, address, ret, bytes);
}

static size_t untouched_memory(void *context, uint64_t address, size_t bytes)
{
	return address_space_empty(context, address, bytes);
}

static struct error *read_graph(struct survey *s)
{
	size_t count = s->roots.len;
	_cleanup_free_ struct search_root *roots = calloc(count + 1, sizeof(*roots));
	if (!roots)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct heap_root *from = &s->roots.data[i];
		roots[i] = (struct search_root){
			from->start, from->end, from->values, from->value_count, (uint32_t)i};
	}
	s->memory = (struct search_memory){(void *)s->heap.space, read_memory, untouched_memory};
	return search_read(s->search, &s->memory, roots, count);
}

/* Types are known when this is asked. */
static bool is_start(void *context, uint32_t site, uint64_t into)
{
	const struct survey *s = context;
	return into < 512 && s->types.types.data[site].starts >> into / 8 & 1;
}

struct error *survey_open(
	const struct address_space *space, struct heap_names *names, struct survey *ret)
{
	*ret = (struct survey){.names = names};
	struct search_options options = {
		.alignment = 8, .is_start = is_start, .is_start_context = ret};
	struct error *error = search_create(&options, &ret->search);
	if (!error)
		error = heap_classes_open(space, &ret->classes);
	if (!error)
		error = heap_open(space, &ret->heap);
	struct heap_sink sink = {ret, take};
	heap_classes_use_python(&ret->classes, &ret->heap.python);
	if (!error)
		error = heap_walk(&ret->heap, &sink);
	if (!error)
		error = heap_classes_group(&ret->classes);
	if (!error)
		error = heap_roots_find(&ret->heap, &ret->roots);
	return error ? error : read_graph(ret);
}

void survey_close(struct survey *survey)
{
	search_destroy(survey->search);
	survey->search = NULL;
	heap_root_vec_deinit(&survey->roots);
	heap_layouts_close(&survey->layouts);
	heap_types_close(&survey->types);
	heap_classes_close(&survey->classes);
	heap_close(&survey->heap);
}

/* From now on a block's site is its type. */
static void settle(struct survey *s)
{
	uint32_t count = search_block_count(s->search);
	for (uint32_t block = 0; block < count; block++) {
		uint32_t type = heap_types_of_site(&s->types, search_block_site(s->search, block));
		struct heap_type *of = &s->types.types.data[type];
		of->blocks++;
		of->bytes += search_block_size(s->search, block);
		search_block_set_site(s->search, block, type);
	}
}

struct error *survey_type(struct survey *survey)
{
	struct error *error = heap_types_open(&survey->classes, &survey->types);
	if (!error)
		error = python_types_say(survey);
	if (!error)
		error = cxx_recognise(
			survey->heap.space, survey->names, &survey->classes, &survey->types);
	if (!error)
		error = containers_recognise(
			&survey->heap, &survey->roots, survey->search, &survey->types);
	if (!error && !survey->no_inference)
		error = inferred_say(survey);
	if (!error)
		error = heap_types_finish(&survey->types, &survey->classes);
	if (!error)
		settle(survey);
	return error;
}

struct error *survey_judge(struct survey *survey)
{
	return search_judge(survey->search);
}
