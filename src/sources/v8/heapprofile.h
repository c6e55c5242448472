/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source "heapprofile": V8's sampling heap profiles (node --heap-prof, Chrome's DevTools). */
#ifndef SOURCES_HEAPPROFILE_H
#define SOURCES_HEAPPROFILE_H

#include "base/error.h"
#include "model/model.h"
#include "sources/recording/input.h"
#include "sources/source.h"

/* Recognises the format by the beginning of the unpacked file. */
bool heapprofile_recognise(const uint8_t *head, size_t len);
struct error *heapprofile_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret);

#endif
