/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dump, as jemalloc's prof_data.c prints it:
 *
 *	heap_v2/524288                      mean distance of samples
 *	  t*: 28: 3216 [0: 0]               of all threads
 *	  t3: 28: 3216 [0: 0] worker        of each thread, with its name
 *	@ 0x5630 0x5640                     a stack, innermost first
 *	  t*: 2: 128 [0: 0]
 *	  t3: 2: 128 [0: 0]
 *
 *	MAPPED_LIBRARIES:
 *	…
 *
 * What is in brackets counts all allocations; without prof_accum it is 0 throughout. Figures
 * are those of samples, made so that jeprof's way to scale them, by the mean size of a stack's
 * blocks, gives the right estimate.
 */
#include "sources/foreign/jemalloc.h"

#include <string.h>

#include "base/cleanup.h"
#include "sources/foreign/foreign_query.h"
#include "sources/foreign/heap_dump.h"

#define BEGINNING "heap_v2/"

struct reading {
	struct heap_dump dump;
	const char *thread;        /* that counts alone; NULL: all */
	struct foreign_keys names; /* of threads → 1: the thread counts, by number as text */
	bool in_stack, any_allocations, any_thread;
};

static void jemalloc_reading_deinit(struct reading *reading)
{
	heap_dump_close(&reading->dump);
	foreign_keys_deinit(&reading->names);
}

bool jemalloc_recognise(const uint8_t *head, size_t len)
{
	return len >= strlen(BEGINNING) && memcmp(head, BEGINNING, strlen(BEGINNING)) == 0;
}

static struct error *jemalloc_read_header(struct reading *reading)
{
	char *line;
	size_t len;
	struct error *error = heap_dump_first_line(&reading->dump, &line, &len);
	if (error)
		return error;
	if (!line)
		return heap_dump_has_no_head(&reading->dump);
	struct foreign_scan scan = foreign_scan_of(line, len);
	if (!foreign_scan_text(&scan, BEGINNING) ||
		!foreign_scan_u64(&scan, &reading->dump.period) || !foreign_scan_at_end(&scan) ||
		!reading->dump.period)
		return stream_error(&reading->dump.stream, "is not 'heap_v2/PERIOD'");
	/* lg_prof_sample:0 takes every block. */
	reading->dump.every_block = reading->dump.period == 1;
	if (reading->dump.every_block)
		reading->dump.period = 0;
	return NULL;
}

static bool jemalloc_is_word(struct foreign_key word, const char *other)
{
	return word.len == strlen(other) && memcmp(word.data, other, word.len) == 0;
}

/* One of the lines before the stacks: which threads there are. */
static struct error *read_thread(
	struct reading *reading, struct foreign_key number, struct foreign_scan *scan)
{
	foreign_scan_blanks(scan);
	struct foreign_key name = {(const uint8_t *)scan->at, (size_t)(scan->end - scan->at)};
	if (!reading->thread || (!jemalloc_is_word(number, reading->thread) &&
					!jemalloc_is_word(name, reading->thread)))
		return NULL;
	uint8_t *copy = arena_alloc(&reading->dump.foreign.names.arena, number.len);
	if (!copy)
		return error_no_memory();
	memcpy(copy, number.data, number.len);
	struct foreign_key key = {copy, number.len};
	reading->any_thread = true;
	return foreign_keys_insert(&reading->names, key, NULL) ? NULL : error_no_memory();
}

static bool jemalloc_counts(const struct reading *reading, struct foreign_key number)
{
	if (!reading->thread)
		return jemalloc_is_word(number, "*");
	return !jemalloc_is_word(number, "*") && foreign_keys_find(&reading->names, number);
}

static struct error *jemalloc_add_figures(
	struct reading *reading, struct heap_dump_figures *figures)
{
	struct heap_dump *dump = &reading->dump;
	struct heap_dump_figures *sum = &dump->rows.data[dump->rows.len - 1].figures;
	reading->any_allocations |= figures->allocations || figures->allocated_bytes;
	struct error *error = heap_dump_unsample(dump, figures);
	if (error)
		return error;
	if (!heap_dump_figures_add(sum, figures))
		return stream_error(&dump->stream, "makes the stack's sum more than 2^64");
	return NULL;
}

/* "  t3: 2: 128 [0: 0] worker" */
static struct error *read_figures(struct reading *reading, struct foreign_scan *scan)
{
	struct heap_dump_figures figures;
	const char *start = scan->at;
	while (scan->at < scan->end && *scan->at != ':')
		scan->at++;
	struct foreign_key number = {(const uint8_t *)start, (size_t)(scan->at - start)};
	if (!foreign_scan_text(scan, ":") || !heap_dump_scan_figures(scan, &figures))
		return stream_error(
			&reading->dump.stream, "is not 'tTHREAD: BLOCKS: BYTES [BLOCKS: BYTES]'");
	if (!reading->in_stack)
		return jemalloc_is_word(number, "*") ? NULL : read_thread(reading, number, scan);
	return jemalloc_counts(reading, number) ? jemalloc_add_figures(reading, &figures) : NULL;
}

static struct error *jemalloc_read_line(struct reading *reading, const char *line, size_t len)
{
	struct heap_dump *dump = &reading->dump;
	struct foreign_scan scan = foreign_scan_of(line, len);
	if (dump->maps.any)
		return heap_dump_map_line(dump, line, len);
	if (foreign_scan_at_end(&scan) || foreign_maps_begin(&dump->maps, line, len))
		return NULL;
	if (foreign_scan_text(&scan, "@")) {
		reading->in_stack = true;
		return heap_dump_scan_row(dump, &scan);
	}
	if (foreign_scan_text(&scan, "t"))
		return read_figures(reading, &scan);
	return stream_error(&dump->stream, "expected a stack (@ 0x…) or its figures (t*: …)");
}

static struct error *jemalloc_read_lines(struct reading *reading)
{
	struct error *error = NULL;
	while (!error) {
		char *line;
		size_t len;
		error = stream_line(&reading->dump.stream, STREAM_LINE_MAX, &line, &len);
		if (error || !line)
			return error;
		if (!heap_dump_is_cut(&reading->dump))
			error = jemalloc_read_line(reading, line, len);
	}
	return error;
}

struct error *jemalloc_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	(void)flags;
	struct error *error =
		foreign_refuse(input, query, FOREIGN_BY_THREAD, "a jemalloc heap dump");
	if (error)
		return error;
	_cleanup_(jemalloc_reading_deinit) struct reading reading = {
		.thread = query && query->blocks ? query->blocks->thread : NULL};
	error = heap_dump_open(&reading.dump, input, "jemalloc");
	if (!error)
		error = jemalloc_read_header(&reading);
	if (!error)
		error = jemalloc_read_lines(&reading);
	if (error)
		return error;
	if (reading.thread && !reading.any_thread)
		return error_create(
			ERROR_INPUT, "%s: it has no thread '%s'", input->name, reading.thread);
	if (reading.any_allocations)
		build_recording(reading.dump.foreign.model)->unknown &=
			~(uint32_t)(UNKNOWN_ALLOCATIONS | UNKNOWN_ALLOCATED_BYTES);
	error = foreign_describe(&reading.dump.foreign, query ? query->blocks : NULL);
	return error ? error : heap_dump_finish(&reading.dump, ret);
}
