/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/export/export_frames.h"

#include <string.h>

void export_frames_deinit(struct export_frames *frames)
{
	export_places_deinit(&frames->numbers);
	frame_vec_deinit(&frames->list);
}

struct error *export_frames_number(
	struct export_frames *frames, const struct shown_frame *frame, uint32_t *ret)
{
	bool is_new;
	uint32_t *number = export_places_insert(&frames->numbers, frame->place, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = (uint32_t)frames->list.len;
		if (!frame_vec_push(&frames->list, frame))
			return error_no_memory();
	}
	*ret = *number;
	return NULL;
}

bool export_is_called(const struct row *row, const struct shown_frame *frame)
{
	return frame == row->frames[0] && !frame->address && frame->function &&
	       frame->mark == MARK_NONE && !shown_frame_is_managed(frame) &&
	       strcmp(frame->function, alloc_kind_name(row->sums->kind)) == 0;
}

void export_add_name(struct text *text, const struct shown_frame *frame)
{
	if (frame->mark == MARK_SIGNAL)
		text_add(text, SIGNAL_FRAME_NAME);
	else if (frame->mark != MARK_NONE)
		text_printf(text, "(%s)", stack_mark_text(frame->mark));
	else
		shown_frame_add_code(text, frame);
}

struct error *export_json_name(
	struct json *json, struct text *text, const struct shown_frame *frame)
{
	text_clear(text);
	export_add_name(text, frame);
	if (text->failed)
		return error_no_memory();
	json_string(json, text->data ? text->data : "");
	return NULL;
}

void export_add_command(struct text *text, const struct model *model)
{
	const struct target *target = model_target(model);
	for (size_t i = 0; i < target->command_len; i++) {
		if (i)
			text_add_char(text, ' ');
		text_add_plain(text, target->command[i]);
	}
}
