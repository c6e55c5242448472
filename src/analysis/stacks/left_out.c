/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See left_out.h. */
#include "analysis/stacks/left_out.h"

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

struct error *left_out_init(
	struct left_out *left_out, const struct recording *recording, bool all_frames)
{
	*left_out = (struct left_out){.allocators = !all_frames && !recording->whole_stacks};
	if (all_frames || !recording->drop_frames)
		return NULL;
	struct error *error = whole_pattern(recording->drop_frames, &left_out->drop);
	if (!error && recording->keep_frames)
		error = whole_pattern(recording->keep_frames, &left_out->keep);
	return error;
}

void left_out_deinit(struct left_out *left_out)
{
	pattern_destroy(left_out->drop);
	pattern_destroy(left_out->keep);
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
static bool is_dropped(const struct left_out *left_out, const struct shown_frame *frame)
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
	return pattern_match(left_out->drop, name) &&
	       !(left_out->keep && pattern_match(left_out->keep, name));
}

/* Leaves out the outermost frame that is to be dropped and all inward of it, but never all. */
static void drop_frames(const struct left_out *left_out, struct frame_vec *frames)
{
	size_t kept = 0;
	while (kept < frames->len) {
		bool dropped = is_dropped(left_out, frames->data[frames->len - 1 - kept]);
		if (dropped && kept)
			break;
		kept++;
	}
	memmove(frames->data, frames->data + (frames->len - kept), kept * sizeof(*frames->data));
	frames->len = kept;
}

/* Where the end of main is told of, the runtime calls main: that is nothing of the program's. */
static void drop_wrapper(struct frame_vec *frames)
{
	static const char runtime[] = "libheapwise-rt.so";
	size_t kept = shown_frames_hidden(frames->data, frames->len);
	for (size_t i = kept; i < frames->len; i++)
		if (!frames->data[i]->module ||
			strncmp(frames->data[i]->module, runtime, strlen(runtime)) != 0)
			frames->data[kept++] = frames->data[i];
	frames->len = kept;
}

void left_out_apply(const struct left_out *left_out, struct frame_vec *frames)
{
	drop_wrapper(frames);
	if (left_out->drop)
		drop_frames(left_out, frames);
	if (left_out->allocators)
		hide_allocators(frames);
}
