/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "views/maps/maps_rows.h"

/* Of regions that grew, so many have sentences of their own. */
#define SENTENCES 5u
#define STRING_ROWS 5u

static void bytes_add(struct text *out, double bytes)
{
	text_add(out, bytes < 0 ? "-" : "");
	text_add_bytes(out, (uint64_t)llround(fabs(bytes)));
}

static uint64_t size_of(int64_t change)
{
	return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

/* A minute is the unit in which people think of growth that takes hours to hurt. */
static void rate_add(const struct mapping_fit *fit, struct text *out)
{
	text_add(out, "grows by ");
	bytes_add(out, fit->slope * 60);
	text_add(out, " a minute");
	if (fit->high - fit->low <= 0.01 * fit->slope)
		return;
	text_add(out, " (");
	bytes_add(out, fit->low * 60);
	text_add(out, " to ");
	bytes_add(out, fit->high * 60);
	text_add(out, ")");
}

static void steps_add(const struct maps_row *row, struct text *out)
{
	const struct mapping_fit *fit = &row->fit;
	text_add(out, "grew by ");
	text_add_bytes(out, size_of(fit->change));
	if (fit->looks < 3)
		return;
	text_printf(out, " in %zu of %zu intervals, not steadily", fit->ups, fit->looks - 1);
}

void maps_add_shape(const struct maps_row *row, struct text *out)
{
	const struct mapping_fit *fit = &row->fit;
	switch (fit->shape) {
	case MAPPING_STEADY:
		rate_add(fit, out);
		break;
	case MAPPING_ONCE:
		text_add(out, "grew once, by ");
		text_add_bytes(out, size_of(fit->change));
		break;
	case MAPPING_UNEVEN:
		steps_add(row, out);
		break;
	case MAPPING_WAVES:
		text_add(out, "goes up and down, between ");
		text_add_bytes(out, fit->least);
		text_add(out, " and ");
		text_add_bytes(out, fit->most);
		if (fit->change) {
			text_add(out, fit->change > 0 ? "; now it has more by "
						      : "; now it has less by ");
			text_add_bytes(out, size_of(fit->change));
		}
		break;
	case MAPPING_SHRANK:
		text_add(out, "shrank by ");
		text_add_bytes(out, size_of(fit->change));
		break;
	case MAPPING_SAME:
		text_add(out, "does not change");
		break;
	default:
		text_add(out, "is not known at all looks");
	}
}

void maps_add_kind(const struct mapping_total *total, struct text *out)
{
	if (total->kind == MAPPING_NODE)
		text_printf(out, "node %u", total->node);
	else
		text_add(out, total->kind == MAPPING_HUGE ? "huge pages" : "swapped");
}

/* "The thread stack (thread 12) at 7f…-7f…" */
static void region_name_add(const struct maps_row *row, struct text *out)
{
	const struct mapping_region *region = row->region;
	const char *name = region->sample.name;
	text_add(out, look_owner_name(row->owner));
	if (row->whose) {
		text_add(out, " (");
		text_add_shown(out, row->whose, 100);
		text_add(out, ")");
	}
	text_printf(out, " at %" PRIx64 "-%" PRIx64, region->start, region->end);
	if (*name && *name != '[') {
		text_add(out, " of ");
		text_add_shown(out, name, 200);
	}
}

void maps_add_command(const struct maps_row *row, struct text *out)
{
	const struct mapping_region *region = row->region;
	if (!row->subject->is_running || !region || !region->is_seen ||
		region->sample.flags[0] != 'r')
		return;
	if (row->owner == LOOK_HEAP || row->owner == LOOK_BLOCK)
		text_printf(out, "heapwise heap %" PRIu64 " types", row->subject->pid);
	else if (row->owner == LOOK_STACK || row->owner == LOOK_THREAD_STACK)
		text_printf(out, "heapwise heap %" PRIu64 " threads", row->subject->pid);
	else if (row->owner != LOOK_KERNEL && row->owner != LOOK_DEVICE)
		text_printf(out, "heapwise heap %" PRIu64 " strings 0x%" PRIx64 "-0x%" PRIx64,
			row->subject->pid, region->start, region->end);
}

static void percent_add(struct text *out, uint64_t part, uint64_t all)
{
	text_printf(out, "%.0f %%", all ? 100 * (double)part / (double)all : 0.0);
}

static void strings_add(const struct maps_pages *pages, struct text *out)
{
	const struct memory_strings *strings = &pages->strings;
	text_add(out, "    its new pages: ");
	text_add_bytes(out, pages->new_bytes);
	if (strings->bytes) {
		text_add(out, ", of which ");
		text_add_bytes(out, strings->bytes);
		text_add(out, " were read: zeros ");
		percent_add(out, strings->zero_bytes, strings->bytes);
		text_add(out, ", strings ");
		percent_add(out, strings->string_bytes, strings->bytes);
	}
	if (pages->unread) {
		text_add(out, "; ");
		text_add(out, pages->unread);
	}
	text_add(out, "\n");
	for (size_t i = 0; i < strings->kinds && i < STRING_ROWS; i++) {
		const struct memory_string *row = &strings->rows[i];
		text_add(out, "      ");
		text_add_count(out, row->count);
		text_add(out, row->count == 1 ? " string, " : " strings, ");
		text_add_bytes(out, row->bytes);
		text_add(out, ": ");
		text_add_shown(out, row->text, MEMORY_STRING_BYTES_MAX);
		text_add(out, "\n");
	}
}

static void finding_add(const struct maps_row *row, struct text *out)
{
	const struct maps_subject *subject = row->subject;
	text_add(out, "  ");
	region_name_add(row, out);
	text_add(out, " ");
	maps_add_shape(row, out);
	if (row->region->has_moved)
		text_add(out, "; it has moved");
	if (row->region->appeared)
		text_add(out, "; it is new");
	text_add(out, "\n");
	for (size_t i = 0; i < subject->page_count; i++) {
		if (subject->pages[i]->region == row->region_index)
			strings_add(subject->pages[i], out);
	}
	size_t before = out->len;
	text_add(out, "    look inside: ");
	size_t named = out->len;
	maps_add_command(row, out);
	if (out->len == named && !out->failed) {
		out->len = before;
		out->data[before] = 0;
		return;
	}
	text_add(out, "\n");
}

/* "In 60 s (13 looks) the process grew by 12.3 MiB, to 45.0 MiB." */
static void total_add(const struct maps_row *process, struct text *out)
{
	const struct maps_subject *subject = process->subject;
	const struct mapping_series *series = subject->series;
	size_t kept = series->seconds.len;
	if (subject->times_known) {
		text_add(out, "In ");
		text_add_duration_ns(
			out, (uint64_t)((series->seconds.data[kept - 1] - series->seconds.data[0]) *
					1e9));
		text_printf(out, " (%zu looks), ", series->looks);
	}
	text_add(out, "resident memory ");
	if (process->fit.shape == MAPPING_UNKNOWN) {
		text_add(out, "is not known of all mappings\n");
		return;
	}
	maps_add_shape(process, out);
	text_add(out, ": from ");
	text_add_bytes(out, process->fit.first);
	text_add(out, " to ");
	text_add_bytes(out, process->fit.last);
	text_add(out, ".\n");
}

static void rest_add(size_t grew, size_t shown, size_t regions, struct text *out)
{
	if (grew > shown) {
		text_add(out, "  ");
		text_add_counted(out, grew - shown, "further mapping", "further mappings");
		text_add(out, " grew, less than these.\n");
	}
	if (regions > grew) {
		text_add(out, grew ? "The other " : "None of ");
		text_add_counted(out, regions - grew, "mapping", "mappings");
		text_add(out, grew ? " did not grow.\n" : " grew.\n");
	}
}

void maps_add_findings(
	const struct maps_rows *rows, const struct maps_row *process, struct text *out)
{
	size_t grew = 0, shown = 0, regions = 0, unknown = 0;
	total_add(process, out);
	for (size_t i = 0; i < rows->regions.len; i++) {
		const struct maps_row *row = &rows->regions.data[i];
		if (row->subject != process->subject)
			continue;
		unknown += row->fit.shape == MAPPING_UNKNOWN;
		regions += row->fit.shape != MAPPING_UNKNOWN;
		if (!maps_row_grew(row))
			continue;
		grew++;
		if (shown < SENTENCES) {
			finding_add(row, out);
			shown++;
		}
	}
	rest_add(grew, shown, regions, out);
	if (unknown) {
		text_add(out, "Of ");
		text_add_counted(out, unknown, "mapping", "mappings");
		text_add(out, " it is not known whether they grew.\n");
	}
}
