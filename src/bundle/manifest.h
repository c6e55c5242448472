/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is in a bundle, and what could not be found for it: docs/schema/bundle-1.md. */
#ifndef BUNDLE_MANIFEST_H
#define BUNDLE_MANIFEST_H

#include "base/error.h"
#include "base/vec.h"
#include "bundle/layout.h"

/* Followed by a number, 1. */
#define BUNDLE_SCHEMA "heapwise.bundle/"

struct json;

/* Strings belong to the manifest. */
struct bundle_file {
	enum bundle_kind kind;
	char *from;     /* on this machine */
	char *to;       /* in the bundle */
	char *of;       /* the module that it is of, by its recorded path; NULL: none */
	char *build_id; /* in hex; NULL: none */
	uint64_t bytes;
};

struct bundle_missing {
	enum bundle_kind kind;
	char *path;
	char *build_id;  /* NULL: none */
	const char *why; /* static: "not found", "another build is there" */
};

DEFINE_VEC(bundle_file_vec, struct bundle_file)
DEFINE_VEC(bundle_missing_vec, struct bundle_missing)

struct bundle_manifest {
	const char *writer; /* static */
	bool anonymous;
	struct bundle_file_vec files; /* the first one is the recording */
	struct bundle_missing_vec missing;
};

void bundle_manifest_init(struct bundle_manifest *manifest, const char *writer);
void bundle_manifest_deinit(struct bundle_manifest *manifest);

/*
 * Adds a file; strings of the row are copied. A file whose place is taken already is left out, and
 * *ret_added set to false (NULL is allowed). Returns ERROR_INPUT if it can't be read or is no
 * regular file.
 */
struct error *bundle_manifest_add(struct bundle_manifest *manifest, const struct bundle_file *row,
	bool *ret_added) must_check_;
/* Adds a file that could not be found; strings of the row are copied. */
struct error *bundle_manifest_lack(
	struct bundle_manifest *manifest, const struct bundle_missing *row) must_check_;

void bundle_manifest_write(const struct bundle_manifest *manifest, struct json *json);

/*
 * Gives the place of the recording that a manifest names, which the caller frees. Returns
 * ERROR_INPUT, without a file's name, if it names none.
 */
struct error *bundle_manifest_recording(const char *text, size_t len, char **ret) must_check_;

#endif
