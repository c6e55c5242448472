/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `heapwise check --uninit` says of a search, for people and as JSON. */
#ifndef CLI_UNINIT_WORDS_H
#define CLI_UNINIT_WORDS_H

#include "base/sink.h"
#include "base/text.h"
#include "cli/check/uninit.h"

/* Adds lines, each with its newline: what was found, or why nothing can be said. */
void uninit_add_words(const struct uninit_result *result, struct text *text);

/* Writes the same as a line of heapwise.check/1. */
struct error *uninit_write_json(
	const struct uninit_result *result, const struct sink *sink) must_check_;

#endif
