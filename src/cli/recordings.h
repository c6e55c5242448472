/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands that read recordings share. */
#ifndef CLI_RECORDINGS_H
#define CLI_RECORDINGS_H

#include "base/error.h"

struct model;

/*
 * The newest recording of the current folder, of equally new ones the last by name; the caller
 * frees it. ERROR_INPUT: there is none.
 */
struct error *recording_newest(char **ret) must_check_;

/* Says what is missing from a recording: also when stdout goes to a program. */
void recording_warn(const struct model *model, const char *path);

#endif
