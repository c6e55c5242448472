/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text and bytes of Python's objects (Include/cpython/unicodeobject.h, bytesobject.h; of Python 2
 * unicodeobject.h, stringobject.h). */
#ifndef HEAP_PYTHON_TEXTS_H
#define HEAP_PYTHON_TEXTS_H

#include "base/text.h"
#include "heap/python/python.h"

/* Where the characters of a text are. */
struct python_text {
	uint64_t address, length; /* in characters */
	unsigned width;           /* bytes of each: 1, 2, 4; of 1 all are below 256 */
};

/* False: the object is no text, or none that makes sense. */
bool python_text_find(struct python *python, uint64_t object, struct python_text *ret);
/* Where the bytes of a bytes object (Python 2: a str) are. False: it is none. */
bool python_bytes_find(
	struct python *python, uint64_t object, uint64_t *ret_address, uint64_t *ret_length);

/* Adds the first `most` characters as UTF-8; of what Python 2 calls str the bytes. False: the
 * object is no text, or has less than its length says. *ret_rest: how many are left. */
bool python_text_add(
	struct python *python, uint64_t object, size_t most, struct text *ret, uint64_t *ret_rest);

/* Returns whether Python's repr() shows a character as it is (str.isprintable(), of 3.11). */
bool python_is_printable(uint32_t character);
/* Adds a character as UTF-8; what is none becomes '?'. */
void python_text_add_character(struct text *text, uint32_t character);

#endif
