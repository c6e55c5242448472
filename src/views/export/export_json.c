/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All stacks with all figures: "heapwise.export/1", described in docs/schema/export-1.md. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "views/export.h"
#include "views/report/page.h"

static void put_rows(struct json *json, const struct page *page, const struct rows *rows)
{
	json_key(json, "sites");
	json_array_begin(json);
	for (size_t i = 0; i < rows->rows.len && !json->failed; i++) {
		json_object_begin(json);
		json_row_members(page, &rows->rows.data[i], json);
		json_object_end(json);
	}
	json_array_end(json);
}

struct error *export_json(const struct exported *from, const struct sink *sink)
{
	const struct profile *profile = from->profile;
	/* What members of sites are made from. */
	_cleanup_free_ struct page *page = calloc(1, sizeof(*page));
	_cleanup_free_ struct json *json = malloc(sizeof(*json));
	if (!page || !json)
		return error_no_memory();
	page->model = profile->model;
	json_init(json, sink->write, sink->ctx);
	json_repeats_begin(json);
	json_object_begin(json);
	json_put_string(json, "schema", "heapwise.export/1");
	json_put_target(json, model_target(profile->model));
	json_put_recording(json, profile->model, NULL);
	json_put_totals(page, json);
	json_put_lines(json, "notes", &profile->notes);
	json_put_filter(json, profile->filter);
	put_rows(json, page, profile_rows(profile));
	json_object_end(json);
	json_finish(json);
	json_repeats_end(json);
	text_add(from->lost, "Threads, times, lifetimes and leaks are omitted: see "
			     "'heapwise report --json' and 'heapwise leaks --format json'.\n");
	return NULL;
}
