/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/small.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compress.h"

/* Of a file: larger ones are no small process's. */
#define FILE_BYTES_MAX (4u << 20)
#define CHUNK_BYTES (1u << 20)

void small_deinit(struct small_vec *list)
{
	for (size_t i = 0; i < list->len; i++)
		free(list->data[i].file);
	small_vec_deinit(list);
}

bool small_ended_well(const struct recorder_end *end)
{
	return end->kind == HPW_EXIT_EXEC || (end->kind == HPW_EXIT_STATUS && !end->value);
}

/* Whether there is more to report than fits a row. */
static bool has_more(const struct recorder *r, const struct recorder_totals *t)
{
	return t->lost || t->repairs || t->write_error || !t->connected || t->notes || r->error ||
	       r->stacks_bad || r->blocks_dropped || r->marks || r->own_malloc ||
	       r->unrecorded.count || t->lost_notices || t->wrong_frees || t->program_errors ||
	       t->unguarded || r->has_search || r->mode.kind == MODE_SAMPLE || t->mappings;
}

bool small_is(const struct tracked_process *process, const struct recorder_end *end,
	const struct recorder_totals *totals, bool empty)
{
	return totals->peak_bytes <= SMALL_PEAK_BYTES && totals->duration_ns <= SMALL_NS &&
	       small_ended_well(end) && !totals->stopped_ns && !process->searched &&
	       !(empty && totals->live_blocks) && !has_more(process->recorder, totals);
}

void small_note(struct small_vec *list, const struct tracked_process *process,
	const struct recorder_totals *totals)
{
	const struct recorder *r = process->recorder;
	const struct small one = {.file = strdup(process->file),
		.peak_bytes = totals->peak_bytes,
		.began_ns = r->began.ns,
		.image = process->image_number,
		.parent = process->parent_number,
		.forks = r->forks,
		.is_process = !process->completed};
	if (!one.file || !small_vec_push(list, one))
		free(one.file);
}

/* The largest first, of equal ones the latest. */
static int compare_weights(const void *left, const void *right)
{
	const struct small *a = left, *b = right;
	if (a->peak_bytes != b->peak_bytes)
		return a->peak_bytes > b->peak_bytes ? -1 : 1;
	return a->began_ns > b->began_ns ? -1 : a->began_ns < b->began_ns;
}

/* The latest first: children come before their parents. */
static int compare_ages(const void *left, const void *right)
{
	const struct small *a = left, *b = right;
	return a->began_ns > b->began_ns ? -1 : a->began_ns < b->began_ns;
}

/* A chunk's payload as a part of a row: its length, and it. */
static bool add_part(const struct hpw_chunk_header *head, const uint8_t *stored, struct buf *ret)
{
	if (!(head->flags & HPW_CHUNK_ZSTD))
		return buf_varint(ret, head->stored_bytes) &&
		       buf_bytes(ret, stored, head->stored_bytes);
	_cleanup_free_ uint8_t *raw = NULL;
	struct error *error =
		head->raw_bytes > HPW_SMALL_PART_MAX
			? error_no_memory()
			: zstd_decompress(stored, head->stored_bytes, head->raw_bytes, &raw);
	bool ok =
		!error && buf_varint(ret, head->raw_bytes) && buf_bytes(ret, raw, head->raw_bytes);
	error_destroy(error);
	return ok;
}

/* The parts are in the file in this order. */
static bool add_parts(const uint8_t *file, size_t bytes, struct buf *ret)
{
	static const uint16_t types[] = {HPW_TARGET, HPW_SUMMARY};
	unsigned part = 0;
	struct hpw_chunk_header head;
	for (size_t at = sizeof(struct hpw_header); part < 2 && bytes - at >= sizeof(head);) {
		memcpy(&head, file + at, sizeof(head));
		at += sizeof(head);
		if (head.magic != HPW_CHUNK_MAGIC || head.stored_bytes > bytes - at)
			return false;
		if (head.type == types[part]) {
			if (head.stored_bytes > HPW_SMALL_PART_MAX ||
				!add_part(&head, file + at, ret))
				return false;
			part++;
		}
		at += head.stored_bytes;
	}
	return part == 2;
}

/* Adds the row of a recording. False: a row can't describe it, and nothing was added. */
static bool add_small_row(const char *path, struct buf *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat about;
	if (fd < 0 || fstat(fd, &about) || !S_ISREG(about.st_mode) ||
		about.st_size > FILE_BYTES_MAX || about.st_size < (off_t)sizeof(struct hpw_header))
		return false;
	size_t bytes = (size_t)about.st_size, before = ret->len;
	_cleanup_free_ uint8_t *file = malloc(bytes);
	bool ok = file && pread(fd, file, bytes, 0) == about.st_size && add_parts(file, bytes, ret);
	if (!ok)
		ret->len = before;
	return ok;
}

/* Whether another recording needs this one: a process forked from it finds its inherited blocks
 * there.
 */
static bool is_needed(struct lineage *lineage, const struct small *one)
{
	const struct lineage_image *image = lineage_at(lineage, one->image);
	return !image || image->named || one->forks > image->announced;
}

/* Writes the rows of those from `gone` on, and removes their files. False: they stay. */
static bool move_some(struct recorder *into, struct buf *rows, const struct small_vec *list,
	size_t *gone, size_t end)
{
	if (!recorder_add_plain(into, HPW_SMALL, rows))
		return false;
	for (; *gone < end; ++*gone)
		unlink(list->data[*gone].file);
	return true;
}

size_t small_move(struct small_vec *list, struct lineage *lineage, struct recorder *into)
{
	if (list->len <= SMALL_KEPT)
		return 0;
	struct small *data = list->data;
	qsort(data, list->len, sizeof(*data), compare_weights);
	qsort(data + SMALL_KEPT, list->len - SMALL_KEPT, sizeof(*data), compare_ages);
	size_t gone = 0, chosen = 0; /* chosen: their rows wait to be written */
	struct buf rows;
	buf_init(&rows);
	for (size_t i = SMALL_KEPT; i < list->len && chosen < HPW_SMALL_MAX; i++) {
		struct small one = data[i];
		if (is_needed(lineage, &one) || !add_small_row(one.file, &rows))
			continue;
		struct lineage_image *parent = lineage_at(lineage, one.parent);
		if (parent && parent->named)
			parent->named--;
		data[i] = data[chosen];
		data[chosen++] = one;
		if (rows.len >= CHUNK_BYTES && !move_some(into, &rows, list, &gone, chosen))
			break;
	}
	if (rows.len)
		move_some(into, &rows, list, &gone, chosen);
	buf_deinit(&rows);
	return gone;
}
