/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_look.h"

#include "cli/setup/context.h"
#include "cli/terminal/message.h"

void heap_look_init(struct heap_look *look)
{
	*look = (struct heap_look){.json = false};
	heap_session_init(&look->heap, cli_context());
	heap_wishes_init(&look->wishes);
}

void heap_look_close(struct heap_look *look)
{
	heap_wishes_deinit(&look->wishes);
	heap_session_close(&look->heap);
}

struct heap_page heap_look_page(struct heap_look *look)
{
	struct heap_session *session = &look->heap;
	return (struct heap_page){.survey = &session->survey,
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
		.chosen = &look->wishes.chosen,
		.rows = &look->wishes.rows,
		.leak_kinds = look->wishes.kinds,
		.raw = heap_wishes_has(&look->wishes, HEAP_WISH_RAW)};
}

struct sink heap_look_sink(const struct heap_look *look, struct output *output)
{
	return output_sink_paged(output, !look->no_pager && !look->json && !look->csv);
}

int heap_look_shown(struct output *output, struct error *error)
{
	return error ? message_error(error) : output_end(output);
}
