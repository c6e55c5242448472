/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that were looked up once, as a file: for addresses of one module all that symbols_resolve()
 * answers. The layout is our own:
 *
 *   header       struct names_header, below
 *   addresses    u64 each, rising
 *   firsts       u32 each, one more than addresses: the run of symbols of each, never empty
 *   symbols      struct names_symbol, below
 *   ends         u32 each, one more than strings: where each begins in the text, the last its end
 *   key          what the answers were made from; only readers with the same inputs may use them
 *   text         strings, each with its NUL
 *
 * Numbers are as the machine has them: a file of another kind of machine has no key of ours. The
 * file may have been written by anybody, so that parsing checks each number in it once.
 */
#ifndef SYMBOLS_NAMES_FILE_H
#define SYMBOLS_NAMES_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_MAGIC "HWNAMES\1"
/* Beyond that a file is neither written nor read. */
#define NAMES_FILE_MAX (64u << 20)

struct names_header {
	char magic[8];     /* with the version of the layout */
	uint64_t checksum; /* of all after it */
	uint32_t state;    /* of enum symbols_state */
	uint32_t separate; /* 1: names come from the separate debug file, 0: from the module */
	uint32_t addresses, symbols, strings;
	uint32_t key_len, text_len;
	uint32_t unused; /* 0 */
};

/* Numbers of strings, from 1; 0: none. Which ones are inlined follows from their order. */
struct names_symbol {
	uint32_t function, raw_name, linkage_name, file;
	uint32_t line;
};

/* Points into the bytes that were parsed. */
struct names_file {
	const struct names_header *header;
	const uint64_t *addresses;
	const uint32_t *firsts;
	const struct names_symbol *symbols;
	const uint32_t *ends;
	const char *key, *text;
};

/* `data` is aligned to 8 bytes. false: it is no such file, another version, or damaged. */
bool names_file_parse(struct names_file *ret, const uint8_t *data, size_t len);
bool names_file_has_key(const struct names_file *file, const char *key, size_t len);

/* Returns the symbols of an address, innermost first; NULL: it is not among them. */
const struct names_symbol *names_file_find(
	const struct names_file *file, uint64_t address, size_t *ret_count);

/* `number` from 1 to the header's `strings`. */
static inline const char *names_file_string(const struct names_file *file, uint32_t number)
{
	return file->text + file->ends[number - 1];
}

/* Returns what checksum such bytes should have; `len` at least that of the header. */
uint64_t names_file_checksum(const uint8_t *data, size_t len);

#endif
