/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RESIDENT chunks: what the resident memory of the process was made of at some moments. */
#ifndef SOURCES_HPW_RESIDENT_H
#define SOURCES_HPW_RESIDENT_H

#include "model/build.h"
#include "sources/events/hpw_clock.h"
#include "sources/recording/hpw_file.h"

/* Which of the samples is wanted: the last one up to a stamp, or the one with most. */
struct hpw_resident_choice {
	bool highest;
	uint64_t stamp; /* else */
	/* Found by hpw_resident_look(). */
	size_t samples; /* in all chunks */
	bool found;
	uint64_t found_stamp, found_bytes, highest_bytes;
};

/* Looks through the samples of one chunk; after an error none of them counts. Called for each
 * chunk, in order. */
struct error *hpw_resident_look(
	struct hpw_resident_choice *choice, const struct hpw_payload *payload) must_check_;
/* Puts the lines of the chosen sample that are in this chunk into the model. Afterwards it is
 * called for each chunk. */
struct error *hpw_resident_put(const struct hpw_resident_choice *choice,
	const struct hpw_clock *clock, const struct hpw_payload *payload,
	struct model *model) must_check_;

#endif
