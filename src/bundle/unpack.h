/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads bundles, which may come from anybody. What is written lies in one folder: an archive with a
 * path that leaves it, a link, a device or the same name twice is refused, as is one with other
 * files than bundles have, and one that unpacks to more than anybody would pack.
 */
#ifndef BUNDLE_UNPACK_H
#define BUNDLE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Whether the file is a tar archive, packed or not, and so has to be a bundle. What can't be read
 * is none. */
bool bundle_recognise(const char *path);

/*
 * Unpacks it into a folder, which is empty and the caller's to remove, also after an error. The
 * place of the recording in it is *ret_recording, which the caller frees. ERROR_INPUT: it is no
 * bundle, or damaged; ERROR_ENVIRONMENT: it can't be written.
 */
struct error *bundle_unpack(const char *path, int folder, char **ret_recording) must_check_;
/* The same from memory; `name` stands in messages. */
struct error *bundle_unpack_bytes(const char *name, const void *data, size_t len, int folder,
	char **ret_recording) must_check_;

#endif
