/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording written again without names: its chunks, of those kinds that are known here, with
 * tokens where names stood, and what code is called in NAMES chunks of its own.
 */
#ifndef SOURCES_HPW_ANONYMIZE_H
#define SOURCES_HPW_ANONYMIZE_H

#include "base/buf.h"
#include "sources/anonymize.h"
#include "sources/source.h"

struct hpw_chunk_sink {
	/* type: enum hpw_chunk_type. */
	struct error *(*put)(void *ctx, unsigned type, const struct buf *payload);
	void *ctx;
};

/* Finds what its header says (enum hpw_feature, or'ed). ERROR_INPUT: it is no recording of
 * heapwise's, or not one that was closed and has all events: such can't be written so. */
struct error *hpw_anonymize_begin(
	const struct source_place *place, unsigned *ret_features) must_check_;

/* Hands on all chunks. The model is the same recording's, after anonymizer_model(). */
struct error *hpw_anonymize(const struct source_place *place, struct anonymizer *anonymizer,
	const struct model *model, const struct hpw_chunk_sink *sink) must_check_;

#endif
