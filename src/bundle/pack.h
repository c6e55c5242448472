/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes bundles. */
#ifndef BUNDLE_PACK_H
#define BUNDLE_PACK_H

#include "bundle/manifest.h"

/*
 * Writes the files and the manifest to `fd`, which will be at `path`, compressed as the end of its
 * name says (.gz, .zst; else not). *ret_bytes is the size. Returns ERROR_INPUT if a file can't be
 * read or has changed meanwhile, ERROR_ENVIRONMENT if the bundle can't be written.
 */
struct error *bundle_pack(const struct bundle_manifest *manifest, const char *path, int fd,
	uint64_t *ret_bytes) must_check_;

#endif
