/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which recordings there are, and what is missing from one. */
#ifndef QUERY_RECORDINGS_H
#define QUERY_RECORDINGS_H

#include "query/context.h"

struct model;

/*
 * The newest recording of the current folder, of equally new ones the last by name; the caller
 * frees it. ERROR_INPUT: there is none.
 */
struct error *recording_newest(char **ret) must_check_;

/* Notes what is missing from a recording. */
void recording_warn(struct query_context *context, const struct model *model, const char *path);

#endif
