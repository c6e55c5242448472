/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/heaps/heap_symbols.h"

#include <string.h>

#include "sources/foreign/foreign_scan.h"

#define BEGINNING "--- symbol"

bool heap_symbols_begin(const uint8_t *head, size_t len)
{
	return len >= strlen(BEGINNING) && memcmp(head, BEGINNING, strlen(BEGINNING)) == 0;
}

void heap_symbols_init(struct heap_symbols *symbols)
{
	heap_symbol_names_init(&symbols->names);
	arena_init(&symbols->arena);
}

void heap_symbols_deinit(struct heap_symbols *symbols)
{
	heap_symbol_names_deinit(&symbols->names);
	arena_deinit(&symbols->arena);
}

/* "0x4011d3 main" */
static struct error *heap_symbols_add_name(
	struct heap_symbols *symbols, struct stream *stream, const char *line, size_t len)
{
	struct foreign_scan scan = foreign_scan_of(line, len);
	uint64_t address;
	if (foreign_scan_text(&scan, "binary="))
		return NULL;
	if (!foreign_scan_text(&scan, "0x") || !foreign_scan_hex(&scan, &address))
		return stream_error(
			stream, "expected a name ('0x… FUNCTION') or the end of names ('---')");
	foreign_scan_blanks(&scan);
	if (scan.at == scan.end)
		return NULL;
	const char *name = arena_strndup(&symbols->arena, scan.at, (size_t)(scan.end - scan.at));
	const char **place = heap_symbol_names_insert(&symbols->names, address, NULL);
	if (!name || !place)
		return error_no_memory();
	*place = name;
	return NULL;
}

struct error *heap_symbols_read(
	struct heap_symbols *symbols, struct stream *stream, char **line, size_t *len)
{
	struct error *error = stream_line(stream, STREAM_LINE_MAX, line, len);
	if (error || !*line || !heap_symbols_begin((const uint8_t *)*line, *len))
		return error;
	while (!(error = stream_line(stream, STREAM_LINE_MAX, line, len)) && *line &&
		strcmp(*line, "---") != 0) {
		error = heap_symbols_add_name(symbols, stream, *line, *len);
		if (error)
			return error;
	}
	/* "--- heap", "--- profile": what kind of a dump it is. */
	do {
		if (!error && *line)
			error = stream_line(stream, STREAM_LINE_MAX, line, len);
	} while (!error && *line && strncmp(*line, "---", 3) == 0);
	return error;
}

const char *heap_symbols_find(const struct heap_symbols *symbols, uint64_t address)
{
	const char *const *name = heap_symbol_names_find(&symbols->names, address);
	if (!name)
		name = heap_symbol_names_find(&symbols->names, address - 1);
	return name ? *name : NULL;
}
