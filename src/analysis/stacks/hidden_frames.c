/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See hidden_frames.h. */
#include "analysis/stacks/hidden_frames.h"

#include <string.h>

#include "analysis/pattern.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"

static struct error *whole_pattern(const char *text, struct pattern **ret)
{
	_cleanup_(text_deinit) struct text whole;
	text_init(&whole);
	text_printf(&whole, "^(?:%s)$", text);
	if (whole.failed)
		return error_no_memory();
	/* What a file says wrongly it has not said. */
	struct error *error = pattern_create(whole.data, ret);
	if (error && error->code == ERROR_USAGE) {
		error_destroy(error);
		error = NULL;
	}
	return error;
}

struct error *hidden_frames_init(
	struct hidden_frames *hidden_frames, const struct recording *recording, bool all_frames)
{
	bool hides = !all_frames && !recording->whole_stacks;
	*hidden_frames = (struct hidden_frames){.allocators = hides, .interpreters = hides};
	if (all_frames || !recording->drop_frames)
		return NULL;
	struct error *error = whole_pattern(recording->drop_frames, &hidden_frames->drop);
	if (!error && recording->keep_frames)
		error = whole_pattern(recording->keep_frames, &hidden_frames->keep);
	return error;
}

void hidden_frames_deinit(struct hidden_frames *hidden_frames)
{
	pattern_destroy(hidden_frames->drop);
	pattern_destroy(hidden_frames->keep);
}

static void hide_allocators(struct frame_vec *frames)
{
	size_t hidden = shown_frames_hidden(frames->data, frames->len);
	if (hidden == 0)
		return;
	memmove(frames->data, frames->data + hidden,
		(frames->len - hidden) * sizeof(*frames->data));
	frames->len -= hidden;
}

/* Without arguments, as pprof compares it. */
static bool is_dropped(const struct hidden_frames *hidden_frames, const struct shown_frame *frame)
{
	static const char *const reserved[] = {"(anonymous namespace)", "operator()"};
	const char *name = shown_frame_plain(frame);
	char plain[512];
	if (!name)
		return false;
	for (const char *at = name; (at = strchr(at, '(')); at++) {
		bool is_reserved = false;
		for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
			size_t lead = (size_t)(strchr(reserved[i], '(') - reserved[i]);
			is_reserved |= (size_t)(at - name) >= lead &&
				       strncmp(at - lead, reserved[i], strlen(reserved[i])) == 0;
		}
		if (is_reserved || (size_t)(at - name) >= sizeof(plain))
			continue;
		memcpy(plain, name, (size_t)(at - name));
		plain[at - name] = '\0';
		name = plain;
		break;
	}
	return pattern_match(hidden_frames->drop, name) &&
	       !(hidden_frames->keep && pattern_match(hidden_frames->keep, name));
}

/* Leaves out the outermost frame that is to be dropped and all inward of it, but never all. */
static void drop_frames(const struct hidden_frames *hidden_frames, struct frame_vec *frames)
{
	size_t kept = 0;
	while (kept < frames->len) {
		bool dropped = is_dropped(hidden_frames, frames->data[frames->len - 1 - kept]);
		if (dropped && kept)
			break;
		kept++;
	}
	memmove(frames->data, frames->data + (frames->len - kept), kept * sizeof(*frames->data));
	frames->len = kept;
}

/* Where the end of main is reported, the runtime calls main: that frame is not the program's. */
static void drop_wrapper(struct frame_vec *frames)
{
	size_t kept = shown_frames_hidden(frames->data, frames->len);
	for (size_t i = kept; i < frames->len; i++)
		if (!frames->data[i]->of_recorder)
			frames->data[kept++] = frames->data[i];
	frames->len = kept;
}

/* What the interpreter does between two Python frames, and inward of the last one, the line of
 * Python says. Extensions between them stay. */
static void drop_interpreter(struct hidden_frames *hidden_frames, struct frame_vec *frames)
{
	size_t kept = 0;
	if (!shown_frames_have_python(frames->data, frames->len))
		return;
	for (size_t i = 0; i < frames->len; i++)
		if (!frames->data[i]->of_interpreter)
			frames->data[kept++] = frames->data[i];
	hidden_frames->hid_interpreter |= kept < frames->len;
	frames->len = kept;
}

void hidden_frames_apply(
	struct hidden_frames *hidden_frames, struct hidden_kinds any, struct frame_vec *frames)
{
	if (any.of_recorder)
		drop_wrapper(frames);
	if (hidden_frames->drop)
		drop_frames(hidden_frames, frames);
	if (any.of_interpreter && hidden_frames->interpreters)
		drop_interpreter(hidden_frames, frames);
	if (hidden_frames->allocators)
		hide_allocators(frames);
}
