/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/gperftools.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "sources/foreign/foreign_query.h"
#include "sources/foreign/heap_dump.h"
#include "sources/foreign/jemalloc.h"

#define BEGINNING "heap profile:"

/* What is after the @ of the first line. */
static const struct kind {
	const char *name;
	bool sampled, growth;
	uint64_t divisor; /* of its number: the period */
} kinds[] = {
	{"heapprofile", .divisor = 1},
	{"heap_v2", .sampled = true, .divisor = 1},
	{"heapz_v2", .sampled = true, .divisor = 1},
	{"heap", .sampled = true, .divisor = 2},
	{"growth", .growth = true, .divisor = 1},
	{"growthz", .growth = true, .divisor = 1},
};

struct reading {
	struct heap_dump dump;
	const struct kind *kind;
	struct heap_dump_figures header, sum;
	bool is_jemalloc; /* by what is after the names in front */
};

static void gperftools_reading_deinit(struct reading *reading)
{
	heap_dump_close(&reading->dump);
}

bool gperftools_recognise(const uint8_t *head, size_t len)
{
	return heap_symbols_begin(head, len) ||
	       (len >= strlen(BEGINNING) && memcmp(head, BEGINNING, strlen(BEGINNING)) == 0);
}

static const struct kind *find_kind(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i].name) == len && memcmp(kinds[i].name, name, len) == 0)
			return &kinds[i];
	return NULL;
}

static struct error *wrong_kind(const struct reading *reading, const char *name, size_t len)
{
	_cleanup_(text_deinit) struct text word;
	text_init(&word);
	text_add_n(&word, name, len);
	return stream_error(&reading->dump.stream,
		"unknown kind of heap profile '%.60s'; expected heapprofile, heap_v2/N, "
		"heapz_v2/N, heap/N, "
		"growth and growthz",
		word.data ? word.data : "");
}

/* "heap_v2/524288" */
static struct error *read_kind(struct reading *reading, struct foreign_scan *scan)
{
	const char *name = scan->at;
	while (scan->at<scan->end && * scan->at> ' ' && *scan->at != '/')
		scan->at++;
	reading->kind = find_kind(name, (size_t)(scan->at - name));
	if (!reading->kind)
		return wrong_kind(reading, name, (size_t)(scan->at - name));
	uint64_t number = 0;
	if (foreign_scan_text(scan, "/") && !foreign_scan_at_end(scan) &&
		!foreign_scan_u64(scan, &number))
		return stream_error(&reading->dump.stream, "has no number after the '/'");
	if (!foreign_scan_at_end(scan))
		return stream_error(
			&reading->dump.stream, "has extra text after the kind of profile");
	number /= reading->kind->divisor;
	reading->dump.every_block = !reading->kind->sampled || number == 1;
	if (reading->kind->sampled && number > 1)
		reading->dump.period = number;
	return NULL;
}

/* Samplers repeat what is in use where there is nothing of what was allocated; jemalloc 3 has the
 * heap profiler's kind for dumps of every block, with zeros there unless it was asked to count. */
static bool has_allocations(const struct reading *reading)
{
	const struct heap_dump_figures *header = &reading->header;
	if (reading->kind->growth)
		return false;
	if (!reading->kind->sampled)
		return header->allocations >= header->live_blocks &&
		       header->allocated_bytes >= header->live_bytes;
	return (header->allocations && header->allocations != header->live_blocks) ||
	       (header->allocated_bytes && header->allocated_bytes != header->live_bytes);
}

static struct error *gperftools_read_header(struct reading *reading)
{
	char *line;
	size_t len;
	struct error *error = heap_dump_first_line(&reading->dump, &line, &len);
	if (error)
		return error;
	if (!line)
		return heap_dump_has_no_head(&reading->dump);
	reading->is_jemalloc = jemalloc_recognise((const uint8_t *)line, len);
	if (reading->is_jemalloc)
		return NULL;
	struct foreign_scan scan = foreign_scan_of(line, len);
	bool scanned = foreign_scan_text(&scan, BEGINNING) &&
		       heap_dump_scan_figures(&scan, &reading->header);
	foreign_scan_blanks(&scan);
	if (!scanned || !foreign_scan_text(&scan, "@"))
		return stream_error(&reading->dump.stream,
			"expected 'heap profile: BLOCKS: BYTES [BLOCKS: BYTES] @ KIND'");
	foreign_scan_blanks(&scan);
	return read_kind(reading, &scan);
}

/* "  2: 34 [ 5: 67] @ 0x12 0x34" */
static struct error *read_row(struct reading *reading, const char *line, size_t len)
{
	struct heap_dump *dump = &reading->dump;
	struct heap_dump_figures figures;
	struct foreign_scan scan = foreign_scan_of(line, len);
	bool scanned = heap_dump_scan_figures(&scan, &figures);
	foreign_scan_blanks(&scan);
	if (!scanned || !foreign_scan_text(&scan, "@"))
		return stream_error(
			&dump->stream, "expected 'BLOCKS: BYTES [BLOCKS: BYTES] @ ADDRESSES'");
	if (!heap_dump_figures_add(&reading->sum, &figures))
		return stream_error(&dump->stream, "makes the sums more than 2^64");
	struct error *error = heap_dump_scan_row(dump, &scan);
	if (error)
		return error;
	if (!has_allocations(reading))
		figures.allocations = figures.allocated_bytes = 0;
	error = heap_dump_unsample(dump, &figures);
	if (!error)
		dump->rows.data[dump->rows.len - 1].figures = figures;
	return error;
}

static bool is_blank(const char *line, size_t len)
{
	struct foreign_scan scan = foreign_scan_of(line, len);
	return foreign_scan_at_end(&scan);
}

/* Up to the next tab. */
static struct foreign_text take_column(struct foreign_scan *scan)
{
	foreign_scan_blanks(scan);
	const char *start = scan->at;
	while (scan->at < scan->end && *scan->at != '\t')
		scan->at++;
	return (struct foreign_text){.data = start, .len = (size_t)(scan->at - start)};
}

/* Cuts "main.run+0x1d" and "run.go:12" before the number, which it scans. */
static bool cut_number(struct foreign_text *text, const char *mark, bool hex, uint64_t *ret)
{
	for (size_t at = text->len; at-- > 0;) {
		struct foreign_scan scan = {text->data + at, text->data + text->len};
		if (!foreign_scan_text(&scan, mark))
			continue;
		text->len = at;
		return hex ? foreign_scan_hex(&scan, ret) : foreign_scan_u64(&scan, ret);
	}
	return false;
}

/*
 * Go writes the same text (debug/pprof/heap?debug=1), without mappings: after each stack the
 * frames that are not the runtime's own, as "#	0x4700dc	main.run+0x1d /src/run.go:12"; at
 * the end figures of the runtime.
 */
static struct error *read_remark(struct reading *reading, const char *line, size_t len)
{
	struct heap_dump *dump = &reading->dump;
	struct foreign_scan scan = foreign_scan_of(line, len);
	uint64_t address, offset, number = 0;
	reading->dump.no_maps |= foreign_scan_text(&scan, "# runtime.MemStats");
	if (!dump->rows.len || !foreign_scan_text(&scan, "#\t0x") ||
		!foreign_scan_hex(&scan, &address))
		return NULL;
	struct foreign_text function = take_column(&scan), file = take_column(&scan);
	if (!cut_number(&function, "+0x", true, &offset) || !function.len)
		return NULL;
	if (!cut_number(&file, ":", false, &number) || number > UINT32_MAX)
		number = 0;
	const struct foreign_line named = {.function = function,
		.file = {.data = file.len ? file.data : NULL, .len = file.len},
		.line = (uint32_t)number};
	return heap_dump_add_named(dump, address, &named);
}

static struct error *gperftools_read_lines(struct reading *reading)
{
	struct heap_dump *dump = &reading->dump;
	struct error *error = NULL;
	while (!error) {
		char *line;
		size_t len;
		error = stream_line(&dump->stream, STREAM_LINE_MAX, &line, &len);
		if (error || !line)
			return error;
		if (heap_dump_is_cut(dump))
			continue;
		if (dump->maps.any)
			error = heap_dump_map_line(dump, line, len);
		else if (line[0] == '#')
			error = read_remark(reading, line, len);
		else if (!is_blank(line, len) && !foreign_maps_begin(&dump->maps, line, len))
			error = read_row(reading, line, len);
	}
	return error;
}

/* Its profiler writes into a buffer of 1 MiB, and what does not fit is not there. */
static struct error *check_sums(struct reading *reading)
{
	const struct heap_dump_figures *header = &reading->header, *sum = &reading->sum;
	if (reading->kind->sampled || reading->kind->growth ||
		(header->live_bytes <= sum->live_bytes &&
			header->allocated_bytes <= sum->allocated_bytes))
		return NULL;
	char sentence[200];
	snprintf(sentence, sizeof(sentence),
		"the dump's first line has %" PRIu64 " live bytes and %" PRIu64
		" allocated ones, its stacks have %" PRIu64 " and %" PRIu64
		": some stacks are missing",
		header->live_bytes, header->allocated_bytes, sum->live_bytes, sum->allocated_bytes);
	return build_damage(reading->dump.foreign.model, sentence);
}

struct error *gperftools_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	_cleanup_(gperftools_reading_deinit) struct reading reading = {.kind = NULL};
	struct error *error = heap_dump_open(&reading.dump, input, "gperftools");
	if (!error)
		error = gperftools_read_header(&reading);
	if (!error && reading.is_jemalloc)
		return jemalloc_open(input, flags, query, ret);
	if (!error)
		error = foreign_refuse(input, query, 0, "a gperftools heap profile");
	if (!error)
		error = gperftools_read_lines(&reading);
	if (!error)
		error = check_sums(&reading);
	if (error)
		return error;
	struct recording *recording = build_recording(reading.dump.foreign.model);
	if (has_allocations(&reading))
		recording->unknown &= ~(uint32_t)(UNKNOWN_ALLOCATIONS | UNKNOWN_ALLOCATED_BYTES);
	if (reading.kind->growth)
		recording->remark = "Live memory is what the allocator took from the system.";
	return heap_dump_finish(&reading.dump, ret);
}
