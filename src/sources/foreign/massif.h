/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source "massif": massif.out files of Valgrind's Massif. A series of moments, some of them
 * with a tree of who had allocated what was live then.
 */
#ifndef SOURCES_MASSIF_H
#define SOURCES_MASSIF_H

#include "base/error.h"
#include "model/model.h"
#include "sources/recording/input.h"
#include "sources/source.h"

/* Recognises the format by the beginning of the unpacked file. */
bool massif_recognise(const uint8_t *head, size_t len);
struct error *massif_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret);

#endif
