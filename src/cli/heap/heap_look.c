/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_look.h"

#include "cli/setup/context.h"
#include "cli/terminal/message.h"

void heap_look_init(struct heap_look *look)
{
	*look = (struct heap_look){.json = false};
	heap_session_init(&look->heap, cli_context());
	heap_selection_init(&look->selection);
}

void heap_look_close(struct heap_look *look)
{
	heap_selection_deinit(&look->selection);
	heap_session_close(&look->heap);
}

struct heap_page heap_look_page(struct heap_look *look)
{
	struct heap_session *session = &look->heap;
	return (struct heap_page){.scan = &session->scan,
		.model = session->model,
		.joined = heap_session_joined(session),
		.name = heap_session_name(session),
		.pause_ns = session->pause_ns,
		.maps_before = &session->maps_before,
		.usage = session->usage,
		.space = &session->space,
		.names = &session->names,
		.json = look->json,
		.json_before = look->json_before,
		.csv = look->csv,
		.colour = look->colour,
		.limit = look->limit,
		.chosen = &look->selection.chosen,
		.rows = &look->selection.rows,
		.leak_kinds = look->selection.kinds,
		.raw = heap_selection_has(&look->selection, HEAP_SELECTION_RAW)};
}

struct sink heap_look_sink(const struct heap_look *look, struct output *output)
{
	return output_sink_paged(output, !look->no_pager && !look->json && !look->csv);
}

int heap_look_shown(struct output *output, struct error *error)
{
	return error ? message_error(error) : output_end(output);
}
