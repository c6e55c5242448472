/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growable strings. Additions return nothing: if there is no memory, `failed` is set and further
 * additions do nothing, so that the caller checks once. `data` ends with a NUL; it is NULL while
 * nothing was added.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *data;
	size_t len, cap;
	bool failed;
};

void text_init(struct text *text);
void text_deinit(struct text *text);
/* Empties the text and keeps the memory. */
void text_clear(struct text *text);
/* Returns the string, which the caller frees ("" if nothing was added), and empties the text.
 * Returns NULL if there was no memory. */
char *text_steal(struct text *text);

void text_add(struct text *text, const char *string);
void text_add_n(struct text *text, const char *bytes, size_t len);
void text_add_char(struct text *text, char c);
/* Adds bytes to the text that `text` points to, as sinks and json_init() call it. Returns false if
 * there is no memory. */
bool text_write(void *text, const char *bytes, size_t len);
/* Adds a foreign string for a terminal: control characters and invalid UTF-8 become "?". Of more
 * than `most` bytes it adds the first whole characters and "…". */
void text_add_shown(struct text *text, const char *string, size_t most);
/* Adds a foreign string for programs that need UTF-8: invalid UTF-8 and control characters become
 * '?'. */
void text_add_plain(struct text *text, const char *string);
void text_add_plain_n(struct text *text, const char *bytes, size_t len);
/* A field of CSV (RFC 4180), in quotes where it needs them; as text_add_plain() but for newlines
 * and tabs. Spreadsheets run a cell that begins as a formula, quoted or not: an apostrophe before
 * it makes it text to them (OWASP, "CSV Injection"). */
void text_add_csv(struct text *text, const char *field);
/* As text or an attribute's value of XML; what XML 1.0 cannot hold becomes '?'. */
void text_add_xml(struct text *text, const char *string);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Three digits in IEC units, exact below 1 KiB: "512 B", "1.23 KiB", "342 MiB". */
void text_add_bytes(struct text *text, uint64_t bytes);
/* "1,234,567" */
void text_add_count(struct text *text, uint64_t count);
/* "1 block", "1,204 blocks" */
void text_add_counted(struct text *text, uint64_t count, const char *one, const char *many);
/* Three digits: "780 ns", "45 µs", "12.3 ms", "3.21 s", "2 min 05 s", "1 h 02 min". */
void text_add_duration_ns(struct text *text, uint64_t ns);

#endif
