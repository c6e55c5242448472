/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/pages/page_marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

void page_marks_deinit(struct page_marks *marks)
{
	for (size_t i = 0; i < marks->count; i++)
		model_destroy(marks->models[i]);
}

static struct error *open_mark(
	struct query *query, const char *path, const struct mark *mark, struct page_marks *ret)
{
	query->moments = (struct moments){.given = true,
		.query = {.from = {.kind = SOURCE_START},
			.to = {.kind = SOURCE_MARK, .mark = mark->name, .nth = mark->nth},
			.to_text = mark->name}};
	struct error *error = query_open(query, path, 0, &ret->models[ret->count]);
	if (error)
		return error;
	ret->marks[ret->count] =
		(struct page_mark){.time_ns = mark->time_ns, .model = ret->models[ret->count]};
	ret->count++;
	return NULL;
}

struct error *page_marks_open(
	struct query *query, const struct model *of, size_t most, struct page_marks *ret)
{
	size_t count;
	const struct mark *marks = model_marks(of, &count);
	_cleanup_free_ char *path = strdup(query->opened);
	if (!path)
		return error_no_memory();
	const struct moments moments = query->moments;
	const struct source_series series = query->series;
	query->series = (struct source_series){.rows = 0};
	struct error *error = NULL;
	count = min(count, min(most, (size_t)PAGE_MARKS_MAX));
	for (size_t i = 0; i < count && !error; i++)
		error = open_mark(query, path, &marks[i], ret);
	query->moments = moments;
	query->series = series;
	return error;
}
