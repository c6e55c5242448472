/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/heap_dump.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

/* More functions than this are not inlined into each other; what is further out is one name. */
#define INLINED_MAX 32u

/* No unwinder of theirs goes further: jemalloc's stops at 128, gperftools' at 254. */
#define DEPTH_MAX 4096u

/*
 * What a packed file repeats takes next to no room in it, but some here. No stack is there twice,
 * and each is other than the one before in more than a byte.
 */
#define ROWS_FIXED (UINT64_C(1) << 20)
#define ROWS_PER_BYTE 1u
#define ADDRESSES_FIXED (UINT64_C(1) << 22)
#define ADDRESSES_PER_BYTE 8u

/* Of allocators that are linked into the program, in which no name of a library tells them. */
#define ALLOCATOR_FRAMES                                                                           \
	"(_rjem_)?je_.*|_rjem_.*|prof_backtrace.*|tc_(malloc|calloc|realloc|free|new|newarray|"    \
	"memalign|valloc|pvalloc|posix_memalign|aligned_alloc)(_.*)?|tcmalloc::.*|"                \
	"MallocHook::.*|DumpHeap.*"

struct error *heap_dump_open(struct heap_dump *dump, const struct input *input, const char *source)
{
	*dump = (struct heap_dump){.input = input};
	foreign_maps_init(&dump->maps);
	heap_symbols_init(&dump->symbols);
	struct error *error = foreign_create(&dump->foreign, source, input);
	return error ? error : stream_open(&dump->stream, input, stream_whole_limit(input));
}

void heap_dump_close(struct heap_dump *dump)
{
	stream_close(&dump->stream);
	foreign_deinit(&dump->foreign);
	foreign_maps_deinit(&dump->maps);
	heap_dump_rows_deinit(&dump->rows);
	heap_dump_addresses_deinit(&dump->addresses);
	heap_dump_frames_deinit(&dump->named);
	heap_symbols_deinit(&dump->symbols);
}

struct error *heap_dump_first_line(struct heap_dump *dump, char **line, size_t *len)
{
	return heap_symbols_read(&dump->symbols, &dump->stream, line, len);
}

bool heap_dump_scan_figures(struct foreign_scan *scan, struct heap_dump_figures *ret)
{
	if (!foreign_scan_u64(scan, &ret->live_blocks) || !foreign_scan_text(scan, ":") ||
		!foreign_scan_u64(scan, &ret->live_bytes))
		return false;
	foreign_scan_blanks(scan);
	if (!foreign_scan_text(scan, "[") || !foreign_scan_u64(scan, &ret->allocations) ||
		!foreign_scan_text(scan, ":") || !foreign_scan_u64(scan, &ret->allocated_bytes))
		return false;
	foreign_scan_blanks(scan);
	return foreign_scan_text(scan, "]");
}

bool heap_dump_figures_add(struct heap_dump_figures *sum, const struct heap_dump_figures *more)
{
	return !__builtin_add_overflow(sum->live_blocks, more->live_blocks, &sum->live_blocks) &&
	       !__builtin_add_overflow(sum->live_bytes, more->live_bytes, &sum->live_bytes) &&
	       !__builtin_add_overflow(sum->allocations, more->allocations, &sum->allocations) &&
	       !__builtin_add_overflow(
		       sum->allocated_bytes, more->allocated_bytes, &sum->allocated_bytes);
}

struct error *heap_dump_map_line(struct heap_dump *dump, const char *line, size_t len)
{
	static const char *const beginnings[] = {"heap_v2/", "heap profile:"};
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (len >= strlen(beginnings[i]) &&
			memcmp(line, beginnings[i], strlen(beginnings[i])) == 0)
			return stream_error(&dump->stream,
				"begins another dump: put each into its own file; 'heapwise "
				"report --merge' adds them up");
	return foreign_maps_line(&dump->maps, line, len);
}

struct error *heap_dump_scan_row(struct heap_dump *dump, struct foreign_scan *scan)
{
	struct heap_dump_row row = {.first = dump->addresses.len};
	uint64_t bytes = min(dump->input->bytes, UINT64_C(1) << 32);
	if (dump->rows.len >= ROWS_FIXED + bytes * ROWS_PER_BYTE ||
		dump->addresses.len >= ADDRESSES_FIXED + bytes * ADDRESSES_PER_BYTE)
		return stream_error(&dump->stream,
			"is beyond %zu stacks of %zu addresses: too many for a file of %" PRIu64
			" bytes",
			dump->rows.len, dump->addresses.len, dump->input->bytes);
	while (!foreign_scan_at_end(scan)) {
		uint64_t address;
		if (!foreign_scan_text(scan, "0x") || !foreign_scan_hex(scan, &address))
			return stream_error(
				&dump->stream, "has an invalid address in a stack; expected 0x…");
		if (row.count++ == DEPTH_MAX)
			return stream_error(&dump->stream, "has more than %u addresses", DEPTH_MAX);
		if (!heap_dump_addresses_push(&dump->addresses, address))
			return error_no_memory();
	}
	return heap_dump_rows_push(&dump->rows, row) ? NULL : error_no_memory();
}

struct error *heap_dump_add_named(
	struct heap_dump *dump, uint64_t address, const struct foreign_line *line)
{
	struct heap_dump_row *row = &dump->rows.data[dump->rows.len - 1];
	struct foreign_frame frame;
	if (row->named_count == DEPTH_MAX)
		return stream_error(&dump->stream, "has more than %u frames", DEPTH_MAX);
	struct error *error = foreign_frame(
		&dump->foreign, (struct module_id){0}, address, true, line, 1, &frame);
	if (error)
		return error;
	if (!row->named_count++)
		row->first_named = dump->named.len;
	return heap_dump_frames_push(&dump->named, frame) ? NULL : error_no_memory();
}

static bool heap_dump_scale(uint64_t period, uint64_t *blocks, uint64_t *bytes)
{
	if (!*blocks || !*bytes)
		return true;
	double size = (double)*bytes / (double)*blocks;
	double factor = 1 / -expm1(-size / (double)period);
	double most = 0x1p63;
	if ((double)*blocks * factor >= most || (double)*bytes * factor >= most)
		return false;
	*blocks = (uint64_t)llround((double)*blocks * factor);
	*bytes = (uint64_t)llround((double)*bytes * factor);
	return true;
}

struct error *heap_dump_unsample(const struct heap_dump *dump, struct heap_dump_figures *figures)
{
	if (!dump->period ||
		(heap_dump_scale(dump->period, &figures->live_blocks, &figures->live_bytes) &&
			heap_dump_scale(
				dump->period, &figures->allocations, &figures->allocated_bytes)))
		return NULL;
	return stream_error(&dump->stream, "stands for 2^63 blocks or bytes, or more");
}

/* "inner--outer" as lines; returns how many there are. */
static size_t split_names(const char *names, struct foreign_line lines[INLINED_MAX])
{
	size_t count = 0;
	for (const char *next; names; names = next) {
		const char *end = count + 1 < INLINED_MAX ? strstr(names, "--") : NULL;
		/* Of C++'s operator-- it is the name's own. */
		if (end && end - names >= 8 && strncmp(end - 8, "operator--", 10) == 0)
			end = strstr(end + 2, "--");
		next = end ? end + 2 : NULL;
		size_t len = end ? (size_t)(end - names) : strlen(names);
		if (len)
			lines[count++] = (struct foreign_line){.function = {names, len}};
	}
	return count;
}

static struct error *heap_dump_add_frame(
	struct heap_dump *dump, uint64_t address, struct stack_id *stack)
{
	struct module_id module;
	struct foreign_frame frame;
	struct error *error =
		foreign_maps_module(&dump->maps, &dump->foreign, dump->input, address, &module);
	struct foreign_line lines[INLINED_MAX];
	const char *names = heap_symbols_find(&dump->symbols, address);
	size_t count = names ? split_names(names, lines) : 0;
	if (!error)
		error = foreign_frame(&dump->foreign, module, address, false, lines, count, &frame);
	return error ? error : foreign_push(&dump->foreign, *stack, frame, stack);
}

static struct error *heap_dump_add_row(struct heap_dump *dump, const struct heap_dump_row *row)
{
	struct stack_id stack = {0};
	struct error *error = NULL;
	for (size_t i = row->named_count; i > 0 && !error; i--)
		error = foreign_push(
			&dump->foreign, stack, dump->named.data[row->first_named + i - 1], &stack);
	for (size_t i = row->named_count ? 0 : row->count; i > 0 && !error; i--)
		error = heap_dump_add_frame(dump, dump->addresses.data[row->first + i - 1], &stack);
	struct site_id id;
	if (!error)
		error = foreign_site(&dump->foreign, stack, KIND_UNKNOWN, &id);
	if (error)
		return error;
	struct site *site = build_site_at(dump->foreign.model, id);
	const struct heap_dump_figures *more = &row->figures;
	if (__builtin_add_overflow(site->live_blocks, more->live_blocks, &site->live_blocks) ||
		__builtin_add_overflow(site->live_bytes, more->live_bytes, &site->live_bytes) ||
		__builtin_add_overflow(site->allocations, more->allocations, &site->allocations) ||
		__builtin_add_overflow(
			site->allocated_bytes, more->allocated_bytes, &site->allocated_bytes))
		return error_create(ERROR_INPUT,
			"%s: figures of one stack add up to more than 2^64", dump->input->name);
	if (!dump->period)
		return NULL;
	/* Go, whose dumps have names and no mappings, writes a row for each size of a stack. */
	struct site alone = {
		.allocations = more->allocations,
		.allocated_bytes = more->allocated_bytes,
		.live_blocks = more->live_blocks,
		.live_bytes = more->live_bytes,
	};
	foreign_estimate(&alone, dump->period, dump->no_maps || row->named_count);
	spread_add(&site->spread, &alone.spread);
	return NULL;
}

static void set_estimates(struct heap_dump *dump)
{
	struct recording *recording = build_recording(dump->foreign.model);
	if (dump->every_block)
		recording->mode = "exact";
	if (!dump->period)
		return;
	recording->mode = "sample";
	recording->sample_bytes = dump->period;
}

/* Addresses that lie after all mappings: a dump has these at its end, lowest first. */
static bool has_addresses_after(const struct heap_dump *dump)
{
	const struct foreign_mapping_vec *mappings = &dump->maps.mappings;
	uint64_t end = 0, highest = 0;
	for (size_t i = 0; i < mappings->len; i++)
		end = mappings->data[i].end > end ? mappings->data[i].end : end;
	for (size_t i = 0; i < dump->addresses.len; i++)
		highest = dump->addresses.data[i] > highest ? dump->addresses.data[i] : highest;
	return highest > end;
}

/* Whether the dump says itself what functions its addresses are of. */
static bool heap_dump_has_names(const struct heap_dump *dump)
{
	return dump->symbols.names.len || dump->named.len;
}

/* What the end of the dump lacks, as damage; NULL: nothing that is known. */
static const char *missing_end(const struct heap_dump *dump)
{
	bool named = heap_dump_has_names(dump);
	if (dump->no_maps)
		return NULL;
	if (!dump->maps.any && dump->named.len)
		return "the end of the dump is missing: it does not end with figures of Go's "
		       "runtime, and stacks may be missing";
	if (!dump->maps.any)
		return named ? "the end of the dump is missing: it has no MAPPED_LIBRARIES, and "
			       "stacks may be missing"
			     : "the end of the dump is missing: it has no MAPPED_LIBRARIES, so "
			       "addresses have no names, and stacks may be missing";
	/* Who knows only names writes no mappings. */
	if (!named && !dump->maps.mappings.len && dump->addresses.len)
		return "the end of the dump is missing: its list of mappings is empty, so "
		       "addresses have no names";
	if (heap_dump_is_cut(dump))
		return "the end of the dump is missing: it is cut off in a line of its mappings";
	if (!named && has_addresses_after(dump))
		return "the end of the dump may be missing: it has addresses after its last "
		       "mapping, which have no names";
	return NULL;
}

struct error *heap_dump_has_no_head(const struct heap_dump *dump)
{
	return stream_error(
		&dump->stream, "is the last one: the file is cut off before its stacks begin");
}

struct error *heap_dump_finish(struct heap_dump *dump, struct model **ret)
{
	struct model *model = dump->foreign.model;
	struct recording *recording = build_recording(model);
	recording->snapshot = true;
	recording->drop_frames = ALLOCATOR_FRAMES;
	recording->unknown &= ~(uint32_t)(UNKNOWN_LIVE_BLOCKS | UNKNOWN_LIVE_BYTES);
	struct error *error = foreign_maps_program(&dump->maps, &dump->foreign);
	const char *missing = missing_end(dump);
	if (!error && missing)
		error = build_damage(model, missing);
	for (size_t i = 0; i < dump->rows.len && !error; i++)
		error = heap_dump_add_row(dump, &dump->rows.data[i]);
	if (error)
		return error;
	set_estimates(dump);
	error = foreign_total(&dump->foreign);
	if (error)
		return error_prefix(error, "%s", dump->input->name);
	build_finish(model);
	*ret = steal_ptr(dump->foreign.model);
	return NULL;
}
