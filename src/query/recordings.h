/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which recordings there are, and what is missing from one. */
#ifndef QUERY_RECORDINGS_H
#define QUERY_RECORDINGS_H

#include "base/vec.h"
#include "query/context.h"

struct model;

DEFINE_VEC(recording_paths, char *)

/*
 * The newest recording of the current folder, of equally new ones the last by name; the caller
 * frees it. ERROR_INPUT: there is none.
 */
struct error *recording_newest(char **ret) must_check_;

/*
 * Adds the path of each recording (*.hpw) in a folder, by name; the caller frees each. ERROR_INPUT:
 * it can't be listed, or has none.
 */
struct error *recordings_in_folder(const char *folder, struct recording_paths *ret) must_check_;

/* Notes what is missing from a recording. */
void recording_warn(struct query_context *context, const struct model *model, const char *path);

#endif
