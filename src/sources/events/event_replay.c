/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/event_replay.h"

#include "base/cleanup.h"
#include "sources/events/hpw_replay.h"

static struct error *replay_chunk(const struct hpw_file *file, const struct hpw_chunk *chunk,
	const struct hpw_visitor *visitor)
{
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	struct error *error = hpw_file_payload(file, chunk, &payload);
	if (!error)
		error = hpw_events_decode(&payload, visitor);
	if (!error || error->code != ERROR_INPUT)
		return error;
	error_destroy(error);
	return NULL;
}

static struct error *replay_file(
	const void *context, const struct hpw_visitor *visitor, const bool *enough)
{
	const struct hpw_file *file = context;
	struct error *error = NULL;
	for (size_t i = 0; !error && i < file->chunks.len && !(enough && *enough); i++)
		if (file->chunks.data[i].type == HPW_EVENTS)
			error = replay_chunk(file, &file->chunks.data[i], visitor);
	return error;
}

struct event_replay event_replay_of_file(const struct hpw_file *file)
{
	return (struct event_replay){.context = file,
		.each = replay_file,
		.blocks_max = hpw_replay_blocks_max(file->input->bytes)};
}
