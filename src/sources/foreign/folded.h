/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source "folded": text for flame graphs, "main;read_line;xmalloc 1234", outermost frame first.
 * It has one figure and does not say which: it is read as live bytes, and a note says so.
 */
#ifndef SOURCES_FOLDED_H
#define SOURCES_FOLDED_H

#include "base/error.h"
#include "model/model.h"
#include "sources/recording/input.h"
#include "sources/source.h"

/* Recognises the format by the beginning of the unpacked file: all complete lines end with a
 * number. */
bool folded_recognise(const uint8_t *head, size_t len);
/* Returns whether a head without a whole line can be the beginning of a long one: text, at least.
 */
bool folded_may_be(const uint8_t *head, size_t len);
struct error *folded_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret);

#endif
