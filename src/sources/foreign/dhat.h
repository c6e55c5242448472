/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source "dhat": profiles of heaps of Valgrind's DHAT and of what writes its format (JSON,
 * dhatFileVersion 2). Allocated, live at the peak and at the end, by stack.
 */
#ifndef SOURCES_DHAT_H
#define SOURCES_DHAT_H

#include "base/error.h"
#include "model/model.h"
#include "sources/recording/input.h"
#include "sources/source.h"

/* Recognises the format by the beginning of the unpacked file. */
bool dhat_recognise(const uint8_t *head, size_t len);
struct error *dhat_open(const struct input *input, unsigned flags, const struct source_query *query,
	struct model **ret);

#endif
