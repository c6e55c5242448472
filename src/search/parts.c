/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/impl/parts.h"

#include <pthread.h>
#include <string.h>

bool graph_parts_open(struct graph *graph, struct graph_part parts[2])
{
	uint32_t count = space_count(graph->space);
	bool ok = space_u16_reserve(&graph->heads, (size_t)count + 1) &&
		  space_u32_reserve(&graph->rows, (size_t)count / GRAPH_ROW + 1);
	for (unsigned i = 0; i < 2; i++) {
		parts[i] = (struct graph_part){.lookup = pointer_lookup_new(graph)};
		ok = ok && parts[i].lookup;
		if (ok)
			parts[i].lookup->block_end = count;
	}
	return ok;
}

void graph_parts_close(struct graph_part parts[2])
{
	for (unsigned i = 0; i < 2; i++) {
		pointer_lookup_free(parts[i].lookup);
		scan_close(&parts[i].reader);
	}
}

void graph_parts_split(struct graph *graph, struct graph_part parts[2], uint32_t block, size_t room)
{
	struct pointer_lookup *first = parts[0].lookup, *second = parts[1].lookup;
	struct space_u32 *edges = &graph->edges;
	graph->split = first->block_end = second->block = second->begins = block;
	first->edges = (struct space_u32){edges->data, 0, room};
	second->edges = (struct space_u32){edges->data + room, 0, edges->cap - room};
	second->first_edge = (uint32_t)room;
	first->is_borrowed = second->is_borrowed = true;
}

/* The work of a thread and its result. */
struct part_task {
	struct graph_part *part;
	bool (*go_through)(struct graph_part *part);
	bool ok;
};

static void *run_part(void *context)
{
	struct part_task *task = context;
	task->ok = task->go_through(task->part);
	return NULL;
}

static bool append_interiors(struct graph *graph, const struct graph_interiors *more)
{
	struct graph_interiors *interiors = &graph->interiors;
	if (!graph_interiors_reserve(interiors, interiors->len + more->len))
		return false;
	if (more->len)
		memcpy(interiors->data + interiors->len, more->data,
			more->len * sizeof(*more->data));
	interiors->len += more->len;
	return true;
}

static bool mark_interior_counts(struct graph *graph)
{
	const struct graph_interiors *interiors = &graph->interiors;
	size_t at = 0, count = graph->edges.len / GRAPH_MARKED + 2;
	if (!space_u32_reserve(&graph->interior_marks, count))
		return false;
	for (size_t mark = 0; mark < count; mark++) {
		while (at < interiors->len && interiors->data[at].edge < mark * GRAPH_MARKED)
			at++;
		graph->interior_marks.data[mark] = (uint32_t)at;
	}
	graph->interior_marks.len = count;
	return true;
}

/* Appends the rows that the second part keeps in full. */
static bool append_far(struct graph *graph, const struct pointer_lookup *second)
{
	struct space_u32 *far = &graph->far;
	uint32_t before = (uint32_t)far->len;
	if (!space_u32_reserve(far, far->len + second->far.len))
		return false;
	if (second->far.len)
		memcpy(far->data + before, second->far.data, second->far.len * sizeof(*far->data));
	far->len += second->far.len;
	for (size_t i = 0; i < second->far_rows.len; i++)
		graph->rows.data[second->far_rows.data[i]] += before;
	return true;
}

/* Keeps the row in full that has blocks of both parts. */
static bool join_shared_row(struct graph *graph, const struct pointer_lookup *second)
{
	uint32_t split = graph->split, row = split / GRAPH_ROW, first = row * GRAPH_ROW;
	uint32_t from = (uint32_t)graph->far.len, count = space_count(graph->space);
	if (split == first)
		return true;
	if (!space_u32_reserve(&graph->far, from + GRAPH_ROW))
		return false;
	uint32_t *far = graph->far.data + from;
	memcpy(far, second->beginning, GRAPH_ROW * sizeof(*far));
	for (uint32_t block = first; block < split; block++)
		far[block - first] = graph_edges(graph, block);
	graph->far.len += GRAPH_ROW;
	graph->rows.data[row] = from;
	for (uint32_t block = first; block <= count && block < first + GRAPH_ROW; block++)
		graph->heads.data[block] = GRAPH_FAR;
	return true;
}

static bool join_heads(struct graph *graph, struct graph_part parts[2])
{
	struct pointer_lookup *first = parts[0].lookup;
	graph->heads.len = (size_t)space_count(graph->space) + 1;
	graph->rows.len = (size_t)space_count(graph->space) / GRAPH_ROW + 1;
	graph->far = first->far;
	first->far = (struct space_u32){NULL, 0, 0};
	return !graph->split ||
	       (append_far(graph, parts[1].lookup) && join_shared_row(graph, parts[1].lookup));
}

static bool join_parts(struct graph *graph, struct graph_part parts[2])
{
	struct pointer_lookup *first = parts[0].lookup, *second = parts[1].lookup;
	const struct pointer_lookup *last = graph->split ? second : first;
	graph->edge_count = first->edges.len + second->edges.len;
	for (unsigned i = 0; i < 2; i++)
		graph->unread_bytes += parts[i].reader.unread_bytes;
	graph->split_end = pointer_lookup_next_edge(first);
	if (!first->is_borrowed)
		graph->edges = first->edges;
	first->is_borrowed = true;
	graph->edges.len = pointer_lookup_next_edge(last);
	graph->interiors = first->interiors;
	first->interiors = (struct graph_interiors){NULL, 0, 0};
	return join_heads(graph, parts) && append_interiors(graph, &second->interiors) &&
	       mark_interior_counts(graph);
}

bool graph_parts_run(struct graph *graph, struct graph_part parts[2],
	bool (*go_through)(struct graph_part *part))
{
	struct part_task beside = {&parts[1], go_through, true};
	pthread_t thread;
	bool is_beside = graph->split && !pthread_create(&thread, NULL, run_part, &beside);
	bool ok = go_through(&parts[0]);
	if (is_beside)
		pthread_join(thread, NULL);
	else if (graph->split)
		run_part(&beside);
	return ok && beside.ok && join_parts(graph, parts);
}
