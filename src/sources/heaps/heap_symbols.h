/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that precedes a heap dump: google-pprof and jeprof take them and write them
 * (PrintSymbolizedProfile: --raw of a dump from a server), 'heapwise export' does where functions
 * have no address in a file:
 *
 *	--- symbol
 *	binary=/usr/bin/app
 *	0x00000000004011d3 inner--outer         inlined functions, innermost first
 *	---
 *	--- heap                                perhaps
 */
#ifndef SOURCES_HEAP_SYMBOLS_H
#define SOURCES_HEAP_SYMBOLS_H

#include "sources/foreign/foreign.h"
#include "sources/recording/stream.h"

static inline bool heap_symbol_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(heap_symbol_names, uint64_t, const char *, hash_u64, heap_symbol_equal)

struct heap_symbols {
	struct heap_symbol_names names;
	struct arena arena;
};

/* Returns whether a file begins with such names. */
bool heap_symbols_begin(const uint8_t *head, size_t len);

void heap_symbols_init(struct heap_symbols *symbols);
void heap_symbols_deinit(struct heap_symbols *symbols);

/* Reads up to the dump itself, whose first line is left in *line (NULL: there is none), until the
 * stream is read on. A stream without names is at its dump. */
struct error *heap_symbols_read(
	struct heap_symbols *symbols, struct stream *stream, char **line, size_t *len) must_check_;

/* Returns the functions at an address of a stack, "inner--outer"; NULL: it has no name. */
const char *heap_symbols_find(const struct heap_symbols *symbols, uint64_t address);

#endif
