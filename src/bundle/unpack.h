/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpacks bundles, which are hostile input. Everything is written below one folder: an archive with
 * a path that leaves it, a link, a device or the same name twice is refused, and so is one with
 * other files than bundles have, or one that unpacks to an implausible size.
 */
#ifndef BUNDLE_UNPACK_H
#define BUNDLE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Returns whether the file is a tar archive, compressed or not, and so has to be a bundle; false
 * also if it can't be read. */
bool bundle_recognise(const char *path);

/*
 * Unpacks a bundle into an empty folder, which the caller removes, also after an error.
 * *ret_recording is the place of the recording in it, which the caller frees. Returns ERROR_INPUT
 * if the file is no bundle or damaged, ERROR_ENVIRONMENT if it can't be written.
 */
struct error *bundle_unpack(const char *path, int folder, char **ret_recording) must_check_;
/* Unpacks a bundle from memory; `name` is its name in messages. */
struct error *bundle_unpack_bytes(const char *name, const void *data, size_t len, int folder,
	char **ret_recording) must_check_;

#endif
