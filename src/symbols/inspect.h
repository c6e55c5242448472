/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a file has, or lacks, for the names and lines of its addresses and for stacks through it. */
#ifndef SYMBOLS_INSPECT_H
#define SYMBOLS_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inspection {
	char build_id[80]; /* in hex; "": it has none */
	char *separate;    /* the debug file that belongs to it; NULL: none was found */
	char *link;        /* the debug file that it names (.gnu_debuglink); NULL: none */
	bool own_lines, separate_lines; /* .debug_line, readable */
	bool symbol_table;              /* .symtab, here or in the debug file */
	bool mini;                      /* .gnu_debugdata: names of functions alone */
	bool dynamic_symbols;
	bool unwind;          /* .eh_frame or .debug_frame: stacks go through it exactly */
	bool own_malloc;      /* .symtab has a malloc that it does not export */
	bool go;              /* written in Go, whose heap is its own */
	bool zstd_unreadable; /* compressed in a way that this build of elfutils can't read */
	bool alt_missing;     /* shared debug information (dwz) that is not there */
};

/* False: no ELF file, or it can't be read. Strings are freed by inspection_deinit(). */
bool inspection_make(const char *path, struct inspection *ret);
void inspection_deinit(struct inspection *inspection);

/* Code as the kernel maps it from a file: whole pages. */
struct inspect_segment {
	uint64_t address, end; /* the file's own */
	uint64_t offset;       /* in the file */
};

/* Returns the segments of an ELF file that may be executed, at most `most`; how many there are. 0:
 * none, or it can't be read. */
size_t inspect_code(const char *path, struct inspect_segment *ret, size_t most);

/* Returns the text in a section of an ELF file; the caller frees. NULL: none. */
char *inspect_section_text(const char *path, const char *section);

#endif
