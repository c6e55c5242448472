/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/watch_lines.h"

#include <inttypes.h>

#include "base/path.h"

static void place_add(
	struct text *text, const struct watch_modules *modules, const struct watch_frame *frame)
{
	if (frame->module == SIZE_MAX)
		return;
	text_add(text, " [");
	text_add_shown(text, path_last_part(modules->data[frame->module].path), SIZE_MAX);
	text_add(text, "]");
}

/* As memleak has them: "kmem_cache_alloc+0x1c [kernel]". */
static void kernel_frame_add(struct text *text, const struct watch_frame *frame)
{
	if (!frame->kernel.name) {
		text_printf(text, "\t\t0x%016" PRIx64 " [unknown]\n", frame->address);
		return;
	}
	text_add(text, "\t\t");
	text_add_shown(text, frame->kernel.name, SIZE_MAX);
	text_printf(text, "+0x%" PRIx64 " [", frame->kernel.offset);
	text_add_shown(text, frame->kernel.module ? frame->kernel.module : "kernel", SIZE_MAX);
	text_add(text, "]\n");
}

static void frame_add(
	struct text *text, const struct watch_modules *modules, const struct watch_frame *frame)
{
	if (frame->is_kernel) {
		kernel_frame_add(text, frame);
		return;
	}
	if (!frame->count || !frame->symbols[0].function) {
		text_printf(text, "\t\t0x%016" PRIx64, frame->address);
		place_add(text, modules, frame);
		text_add(text, "\n");
		return;
	}
	for (size_t i = 0; i < frame->count; i++) {
		const struct symbol *symbol = &frame->symbols[i];
		text_add(text, "\t\t");
		text_add_shown(text, symbol->function ? symbol->function : "?", SIZE_MAX);
		if (symbol->file) {
			text_add(text, " ");
			text_add_shown(text, path_last_part(symbol->file), SIZE_MAX);
			if (symbol->line)
				text_printf(text, ":%u", symbol->line);
		}
		text_add(text, symbol->inlined ? " (inlined)" : "");
		place_add(text, modules, frame);
		text_add(text, "\n");
	}
}

struct error *watch_frames_add(struct text *text, struct watch_names *names,
	const struct watch_modules *modules, const uint64_t *frames, unsigned count)
{
	struct error *error = NULL;
	for (unsigned i = 0; i < count && !error; i++) {
		struct watch_frame frame;
		error = watch_names_find(names, modules, frames[i], &frame);
		if (!error)
			frame_add(text, modules, &frame);
	}
	return error;
}

void watch_outermost_add(struct text *text, bool is_overflow, bool is_incomplete)
{
	if (is_overflow)
		text_add(text, "\t\t(stacks that found no room in the table)\n");
	else if (is_incomplete)
		text_add(text, "\t\t(callers beyond this are not known)\n");
}

void watch_loss_add(struct text *text, uint64_t count, const char *what)
{
	if (!count)
		return;
	text_add(text, "\t[");
	text_add_count(text, count);
	text_printf(text, " %s]\n", what);
}

void watch_incomplete_add(struct text *text, uint64_t incomplete, uint64_t all)
{
	if (!incomplete)
		return;
	text_printf(text, "\t[%.3g %% of the stacks are incomplete: ",
		100.0 * (double)incomplete / (double)all);
	text_add_count(text, incomplete);
	text_add(text, " of ");
	text_add_count(text, all);
	text_add(text, "]\n");
}
