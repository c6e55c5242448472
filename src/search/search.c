/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/search.h"

#include <pthread.h>
#include <stdlib.h>

#include "search/impl/search_impl.h"

struct error *search_create(const struct search_options *options, struct search **ret)
{
	struct search *s = calloc(1, sizeof(*s));
	if (!s)
		return error_no_memory();
	s->options = *options;
	for (size_t i = 0; i < GROUPS_RECENT; i++)
		s->recent[i].parent = SEARCH_NO_GROUP;
	space_init(&s->space);
	*ret = s;
	return NULL;
}

void search_destroy(struct search *search)
{
	if (!search)
		return;
	space_deinit(&search->space);
	sites_deinit(&search->sites);
	candidate_words_close(&search->candidates_after);
	candidate_words_close(&search->candidates);
	graph_deinit(&search->graph);
	free(search->reached);
	free(search->leaders);
	space_u32_deinit(&search->queue);
	explained_vec_deinit(&search->explained);
	search_group_vec_deinit(&search->group_list);
	group_map_deinit(&search->group_map);
	search_record_vec_deinit(&search->records);
	free(search);
}

struct error *search_reserve(struct search *search, uint64_t blocks)
{
	bool ok = blocks <= SPACE_BLOCKS_MAX && space_reserve(&search->space, (uint32_t)blocks) &&
		  sites_reserve(&search->sites, blocks) &&
		  space_u32_reserve(&search->queue, blocks);
	return ok ? NULL : error_no_memory();
}

struct error *search_add_block(
	struct search *search, uint64_t address, uint64_t size, uint32_t site)
{
	switch (space_add(&search->space, address, size)) {
	case SPACE_REFUSED:
		return error_create(ERROR_INPUT,
			"block of %llu bytes at 0x%llx: out of order, or no address",
			(unsigned long long)size, (unsigned long long)address);
	case SPACE_NO_MEMORY:
		return error_no_memory();
	default:
		return sites_push(&search->sites, site) ? NULL : error_no_memory();
	}
}

void search_note_words(struct search *search, const struct search_memory *memory,
	const struct search_range *ranges, size_t count, uint64_t blocks)
{
	if (search->options.alignment == 8)
		candidate_words_open(&search->candidates, memory, ranges, count, blocks);
}

void search_note_words_after(struct search *search, const struct search *first, uint64_t blocks)
{
	candidate_words_open_after(&search->candidates, &first->candidates, blocks);
}

void search_note_block(struct search *search, uint64_t address, uint64_t size, const uint8_t *bytes,
	size_t len, const struct word_bits *bits)
{
	if (search->candidates.regions)
		candidate_words_add(&search->candidates, address, size, bytes, len, bits);
}

struct appending {
	struct space *space, *after;
	bool ok;
};

static void *append_space(void *context)
{
	struct appending *a = context;
	a->ok = space_append(a->space, a->after);
	return NULL;
}

struct error *search_append(struct search *search, struct search *after, const uint32_t *sites)
{
	struct appending beside = {&search->space, &after->space, false};
	pthread_t thread;
	/* Both go through tables of all blocks. */
	bool is_beside = !pthread_create(&thread, NULL, append_space, &beside);
	bool ok = sites_append(&search->sites, &after->sites, sites);
	if (is_beside)
		pthread_join(thread, NULL);
	else
		append_space(&beside);
	candidate_words_close(&search->candidates_after);
	search->candidates_after = after->candidates;
	after->candidates = (struct candidate_words){.regions = NULL};
	return ok && beside.ok ? NULL : error_no_memory();
}

static struct error *read_blocks(struct search *s)
{
	struct candidate_words *candidates = &s->candidates, *after = &s->candidates_after;
	struct error *error = NULL;
	if (graph_can_use_candidates(&s->graph, candidates, after))
		error = graph_use_candidates(&s->graph, candidates, after);
	else if (space_count(&s->space))
		error = graph_read_blocks(&s->graph);
	candidate_words_close(after);
	candidate_words_close(candidates);
	return error;
}

static struct error *read_roots(
	struct search *s, const struct search_root *roots, size_t root_count)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < root_count; i++) {
		if (roots[i].values)
			error = graph_read_values(
				&s->graph, roots[i].values, roots[i].value_count, (uint32_t)i);
		else
			error = graph_read_root(
				&s->graph, roots[i].start, roots[i].end, (uint32_t)i);
	}
	return error;
}

static bool is_array_block(const void *context, uint32_t block)
{
	const struct search *s = context;
	return s->options.is_array(s->options.is_array_context, sites_get(&s->sites, block));
}

struct error *search_read(struct search *search, const struct search_memory *memory,
	const struct search_root *roots, size_t root_count)
{
	struct search *s = search;
	s->heuristics = (struct heuristics){
		memory, s->options.heuristics, s->options.maps, s->options.map_count};
	space_index(&s->space);
	graph_init(&s->graph, &s->space, memory, s->options.alignment);
	s->graph.beside_bytes = s->options.beside_bytes;
	s->graph.is_array = s->options.is_array ? is_array_block : NULL;
	s->graph.is_array_context = s;
	struct error *error = read_blocks(s);
	if (!error)
		error = read_roots(s, roots, root_count);
	return error;
}

struct error *search_classify(struct search *search)
{
	struct search *s = search;
	size_t count = space_count(&s->space);
	s->reached = calloc(count / 64 + 1, sizeof(*s->reached));
	if (!s->reached)
		return error_no_memory();
	if (!sites_open(&s->sites) || s->sites.failed)
		return error_no_memory();
	if (count && (!search_mark(s) || !search_find_leaders(s)))
		return error_no_memory();
	space_u32_deinit(&s->queue);
	s->totals.pointers = s->graph.edge_count;
	s->totals.root_bytes = s->graph.root_bytes;
	s->totals.unread_bytes = s->graph.unread_bytes;
	return search_count(s) ? NULL : error_no_memory();
}

struct error *search_run(struct search *search, const struct search_memory *memory,
	const struct search_root *roots, size_t root_count)
{
	struct error *error = search_read(search, memory, roots, root_count);
	return error ? error : search_classify(search);
}

uint32_t search_block_count(const struct search *search)
{
	return space_count(&search->space);
}

uint64_t search_block_address(const struct search *search, uint32_t block)
{
	return space_address(&search->space, block);
}

uint64_t search_block_size(const struct search *search, uint32_t block)
{
	return space_size(&search->space, block);
}

uint32_t search_block_site(const struct search *search, uint32_t block)
{
	return sites_get(&search->sites, block);
}

void search_prefetch_block(const struct search *search, uint32_t block)
{
	sites_prefetch(&search->sites, block);
}

uint32_t search_block_first_site(const struct search *search, uint32_t block)
{
	return sites_first(&search->sites, block);
}

void search_block_set_site(struct search *search, uint32_t block, uint32_t site)
{
	sites_set(&search->sites, block, site);
}

struct error *search_check_sites(const struct search *search)
{
	return search->sites.failed ? error_no_memory() : NULL;
}

void search_ignore_tail(struct search *search, uint32_t block, uint64_t bytes)
{
	graph_ignore_tail(&search->graph, block, bytes);
}

uint32_t search_block_at(const struct search *search, uint64_t address, uint64_t *ret_offset)
{
	const struct space *space = &search->space;
	if (address - space->low >= space->high - space->low)
		return SPACE_NONE;
	return space_find(space, address, ret_offset);
}

const struct graph *search_graph(const struct search *search)
{
	return &search->graph;
}

enum search_kind search_kind(const struct search *search, uint32_t block)
{
	const struct sites *sites = &search->sites;
	return sites->nodes.data ? node_kind(sites_node(sites, block)) : SEARCH_DEFINITE;
}

const struct search_record *search_records(const struct search *search, size_t *ret_count)
{
	*ret_count = search->records.len;
	return search->records.data;
}

const struct search_group *search_groups(const struct search *search, size_t *ret_count)
{
	*ret_count = search->group_list.len;
	return search->group_list.data;
}

const struct search_totals *search_totals(const struct search *search)
{
	return &search->totals;
}
