/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at memory that somebody saved: /proc/PID/smaps or maps, `pmap -x` (or without: then sizes
 * alone are known), and what `heapwise maps` wrote, as text or JSON. Nothing in them is trusted.
 */
#ifndef SOURCES_LOOK_FILE_H
#define SOURCES_LOOK_FILE_H

#include "base/error.h"
#include "model/memory_look.h"

/* The most bytes of such a file. */
#define LOOK_FILE_MAX ((size_t)256 << 20)

struct look_file {
	const char *form; /* "smaps", "maps", "pmap", "heapwise maps", "heapwise maps --json" */
	size_t left_out;  /* lines, or mappings in JSON, that could not be understood */
};

/* Reads a file into a fresh look. ERROR_INPUT: it can't be read, is none of these, or has more than
 * one process. */
struct error *look_file_read(
	const char *path, struct memory_look *look, struct look_file *ret) must_check_;
/* Reads `len` bytes, which a NUL follows; they are the look's from then on. `name` is for
 * messages. */
struct error *look_file_parse(const char *name, char *text, size_t len, struct memory_look *look,
	struct look_file *ret) must_check_;

#endif
