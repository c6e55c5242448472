/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What valgrind_xml.c finds in a file → the model's errors and search for leaks. */
#ifndef SOURCES_VALGRIND_XML_BUILD_H
#define SOURCES_VALGRIND_XML_BUILD_H

#include "sources/foreign/foreign.h"

/* Strings belong to the names of struct foreign; "" where the file says nothing. */
struct xml_frame {
	uint64_t ip;
	const char *object, *function, *folder, *file;
	uint64_t line;
};
DEFINE_VEC(xml_frames, struct xml_frame)

/* A sentence and a stack of an error; either may be missing. */
struct xml_part {
	const char *what;
	size_t first, count; /* of its frames */
	bool has_stack;
};
DEFINE_VEC(xml_parts, struct xml_part)

/* Leaks of one search, until it is known to be the last. */
DEFINE_VEC(xml_leaks, struct leak_record)

/* One <error>. */
struct xml_error {
	const char *unique, *kind, *what, *thread;
	uint64_t tid, leaked_bytes, leaked_blocks;
	bool has_leaked; /* either of the two */
	struct xml_parts parts;
	struct xml_frames frames;
};

DEFINE_MAP(xml_numbers, const char *, uint32_t, string_hash, string_equal)

struct xml_amount {
	uint64_t bytes, blocks;
};

/* What protocol 6 says of all that there was, whatever of it the file shows. */
struct xml_summary {
	bool has_heap;
	uint64_t allocations, frees, allocated_bytes;
	struct xml_amount in_use;
	struct xml_amount leaks[LEAK_KINDS], suppressed;
	struct xml_amount heuristics[LEAK_HEURISTICS];
};

/* There may be one for each search that the program asks for: the last is that of the end. */
void xml_summary_clear_leaks(struct xml_summary *summary);

/* By the name of the element, or of the heuristic. NULL: it is none. */
struct xml_amount *xml_summary_leaks(struct xml_summary *summary, const char *name);
struct xml_amount *xml_summary_heuristic(struct xml_summary *summary, const char *name);

/* Kinds of leaks (bits) that are shown if not given. */
#define XML_SHOWN (1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE)

struct xml_build {
	struct foreign foreign;
	struct xml_summary summary;
	struct xml_numbers numbers;        /* of errors, by what <unique> says */
	struct xml_leaks leaks;            /* of the last search so far */
	uint64_t record_number, record_of; /* "in loss record 2 of 4": of the last leak */
	bool has_search, has_indirect, all_freed;
	bool is_memcheck, by_other; /* the tool; it is another program that writes as memcheck */
	bool full;                  /* each leak was to be shown */
	bool ended, whole;          /* the end of the run, and of the file, is in it */
	unsigned shown;             /* kinds (bits) that were to be shown */
	uint64_t indirect_bytes;    /* as definite leaks tell of them */
};

void xml_error_clear(struct xml_error *error);
void xml_error_deinit(struct xml_error *error);

/* Puts one into the model; leaks wait for xml_build_finish(). */
struct error *xml_build_error(struct xml_build *build, const struct xml_error *error) must_check_;

/* <errorcounts>: how often an error came. */
void xml_build_count(struct xml_build *build, const char *unique, uint64_t count);

/* That leaks were looked for, even if there are none. */
void xml_build_search(struct xml_build *build);

/* <state>FINISHED: searches that the program had done while it ran are reported again, as of the
 * end. */
void xml_build_ended(struct xml_build *build);

/* Who wrote the file: the path of the program. */
void xml_build_writer(struct xml_build *build, const char *path);

/* What an option of Valgrind's says of the leaks that are in the file. */
void xml_build_option(struct xml_build *build, const char *option);

struct error *xml_build_finish(struct xml_build *build) must_check_;

#endif
