/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies where in a bundle: a recording with the files that it takes to read it elsewhere, as a
 * tar archive that anybody can unpack.
 *
 *	manifest.json                   what is in it, and what is not: docs/schema/bundle-1.md
 *	recording/app.hpw               and its parents', of a process that was forked
 *	sysroot/usr/bin/app             programs and libraries, at their recorded paths
 *	sysroot/usr/bin/app.dwp
 *	.build-id/ab/cdef….debug        separate debug files, and those that several share (dwz)
 *	.dwo/0123456789abcdef.dwo       split units, by their number
 *	sources/srv/build/main.c
 *
 * So --sysroot DIR/sysroot --symbol-path DIR --source-path DIR/sources find all of it where a
 * bundle was unpacked by hand.
 */
#ifndef BUNDLE_LAYOUT_H
#define BUNDLE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define BUNDLE_MANIFEST "manifest.json"
#define BUNDLE_RECORDING "recording"
#define BUNDLE_SYSROOT "sysroot"
#define BUNDLE_SOURCES "sources"

/* The most files of a bundle: a small archive can have very many files, and each takes time. */
#define BUNDLE_FILES_MAX 16384u
#define BUNDLE_FOLDERS_MAX 4096u
/* Returns the most bytes that a bundle of `packed_bytes` bytes may unpack to: programs compress to
 * a tenth, recordings are compressed already. */
uint64_t bundle_bytes_max(uint64_t packed_bytes);

/* The kind of a file; a bundle has its files in this order. */
enum bundle_kind {
	BUNDLE_KIND_RECORDING,
	BUNDLE_KIND_PARENT,  /* recording of a process that this one was forked from */
	BUNDLE_KIND_MODULE,  /* program or library */
	BUNDLE_KIND_DEBUG,   /* its separate debug file */
	BUNDLE_KIND_SHARED,  /* what debug files share (dwz) */
	BUNDLE_KIND_SPLIT,   /* .dwo */
	BUNDLE_KIND_PACKAGE, /* .dwp */
	BUNDLE_KIND_SOURCE,
	BUNDLE_KINDS
};

/* Returns "recording", "parent", "module"… */
const char *bundle_kind_name(enum bundle_kind kind);

/*
 * Adds FOLDER and a path below it, without "." and "..". Returns false if nothing of the path
 * remains. Paths that name the same file when "." and ".." are resolved as text become the same.
 */
bool bundle_place_below(struct text *text, const char *folder, const char *path);
/* Adds ".build-id/ab/cdef…" and the end (".debug"). Returns false if the build-id is too short. */
bool bundle_place_by_id(struct text *text, const uint8_t *build_id, size_t len, const char *end);
/* Adds ".dwo/ID.dwo". */
void bundle_place_split(struct text *text, uint64_t id);

/*
 * Returns whether a bundle may have a file of that name: a relative path of reasonable length,
 * without parts that are empty, "." or "..", in one of the folders above.
 */
bool bundle_place_is_good(const char *path);

#endif
