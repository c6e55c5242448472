/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a JFR file as a whole says, and what is to be said of it. */
#ifndef SOURCES_JFR_WORDS_H
#define SOURCES_JFR_WORDS_H

#include "base/error.h"
#include "base/text.h"
#include "sources/java/jfr_events.h"

/* Damaged chunks that are named, each in a sentence. */
#define SPOILT_NAMED_MOST 8u

struct jfr_facts {
	uint64_t chunks; /* that were read */
	uint64_t start_ns, end_ns;
	uint64_t events;                 /* of all types */
	struct jfr_sums sums[JFR_KINDS]; /* events and bytes that count */
	uint64_t left_out;             /* jdk.ObjectAllocationSample where there are TLAB events */
	uint64_t stackless, truncated; /* events */
	uint64_t interval, malloc_interval; /* as of a chunk */
	bool sizeless, frees;
	uint64_t spoilt;        /* chunks that can't be read */
	char spoilt_words[256]; /* why the first one can't */
};

/* Bits of enum unknown_figure: of those that the file has. */
uint32_t jfr_known_figures(const struct jfr_facts *facts);
/* Whether objects of jdk.OldObjectSample are shown: what JFR chose of those that stayed. Beside
 * figures of all objects they would look like what is left of these. */
bool jfr_shows_old(const struct jfr_facts *facts);
/* The mean distance of samples in bytes; 0: all that there is was recorded. */
uint64_t jfr_distance(const struct jfr_facts *facts);
/* Whether samples are of the JDK, which takes them where a thread's buffer is full or an object is
 * allocated outside of it: large objects come up too often, and some of a loop never. */
bool jfr_is_biased(const struct jfr_facts *facts);
/* Adds sentences on what the figures are of. */
void jfr_remark_add(const struct jfr_facts *facts, struct text *text);
/* An ERROR_INPUT: what is missing in the file, and how to record it. */
struct error *jfr_no_memory_events(const struct jfr_facts *facts, const char *name) must_check_;

#endif
