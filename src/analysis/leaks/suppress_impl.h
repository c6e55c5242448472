/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of suppress.h share: entries, and the patterns that their lines are made of.
 *
 *   entry ──first, count──▶ lines ──pattern──▶ patterns (each text once)
 */
#ifndef ANALYSIS_SUPPRESS_IMPL_H
#define ANALYSIS_SUPPRESS_IMPL_H

#include "analysis/stacks/glob.h"
#include "analysis/suppress.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

/* What a text is compared with: a pattern of the first three with names of the same kind. */
enum suppress_what {
	WHAT_FUNCTION, /* fun: */
	WHAT_OBJECT,   /* obj: */
	WHAT_SOURCE,   /* src: */
	WHAT_ANY,      /* leak: with names of each kind */
};

struct suppress_text {
	const char *text;
	uint32_t len;
	enum suppress_what what;
};

uint64_t suppress_text_hash(struct suppress_text text);
bool suppress_text_equal(struct suppress_text a, struct suppress_text b);

#define SUPPRESS_NO_PATTERN UINT32_MAX

/* A pattern's text is made of `*` and literal bytes, and of `?` unless it is WHAT_ANY. */
struct suppress_pattern {
	struct suppress_text text;
	uint32_t stem;   /* length without a symbol version (@@GLIBC_2.34), where there is one */
	bool literal;    /* neither wildcards nor a version: found by its text */
	bool everything; /* only `*`, and not WHAT_ANY: fits each known and unknown name */
	uint32_t next_mangled; /* another one that stands for the same name of C++ */
};

#define SUPPRESS_ELLIPSIS UINT32_MAX

struct suppress_line {
	uint32_t pattern;     /* SUPPRESS_ELLIPSIS: any frames, or none */
	uint32_t source_line; /* src:FILE:LINE; 0: any */
};

struct suppress_entry {
	struct suppression shown;
	uint32_t first, count; /* lines */
	bool of_any_frame;     /* LSan: its one line may fit any frame */
	bool of_call;          /* ASan: its one line is for the function of libc that was called */
};

/* A pattern that has to be tried, with what decides quickly. */
struct suppress_trial {
	struct glob_pairs pairs;
	uint32_t pattern;
};

/* The patterns that fit a name: a run in matched, ascending. */
struct suppress_run {
	uint32_t first, count;
};

/* A frame of the current stack: which patterns fit its names. */
struct suppress_seen {
	struct suppress_run object, object_alias, source;
	uint32_t first_name, name_count; /* of the function, in runs */
	uint32_t line;
	bool has_source;
};

DEFINE_VEC(suppress_pattern_vec, struct suppress_pattern)
DEFINE_VEC(suppress_line_vec, struct suppress_line)
DEFINE_VEC(suppress_entry_vec, struct suppress_entry)
DEFINE_VEC(suppress_trial_vec, struct suppress_trial)
DEFINE_VEC(suppress_run_vec, struct suppress_run)
DEFINE_VEC(suppress_seen_vec, struct suppress_seen)
DEFINE_VEC(suppress_id_vec, uint32_t)
DEFINE_MAP(suppress_pattern_map, struct suppress_text, uint32_t, suppress_text_hash,
	suppress_text_equal)
DEFINE_MAP(suppress_name_map, struct suppress_text, struct suppress_run, suppress_text_hash,
	suppress_text_equal)

struct suppressions {
	struct arena arena; /* strings of entries and patterns */
	struct suppress_entry_vec entries;
	struct suppress_line_vec lines;
	struct suppress_pattern_vec patterns;
	struct suppress_pattern_map pattern_by_text;
	struct suppress_pattern_map mangled_by_whole; /* the last one of each name */
	size_t passed_over;
	unsigned line_limit; /* 0: none */
	struct suppress_effort effort;

	/* Of suppress_match.c, made when first needed after entries were added. */
	bool is_prepared;
	struct suppress_trial_vec trials;
	uint32_t *key_first;              /* of each pattern, in key_entries; one more at the end */
	uint32_t *key_entries;            /* entries that only such stacks can fit, ascending */
	struct suppress_id_vec unkeyed;   /* entries that each stack can fit */
	uint32_t *tried;                  /* of each entry: the last stack it was tried with */
	uint32_t stack;                   /* number of the current one */
	struct arena names;               /* strings of the next */
	struct suppress_name_map matches; /* names that were met */
	struct suppress_id_vec matched;
	struct suppress_run_vec runs; /* these three: of the current stack */
	struct suppress_seen_vec seen;
	struct suppress_seen_vec physical; /* without inlined frames */
	struct suppress_run call; /* of the name of the function of libc that was called, if any */
};

/* Finds the pattern's number, a new one or that of an equal one. The text is copied. */
struct error *suppressions_intern(struct suppressions *set, enum suppress_what what,
	const char *text, size_t len, uint32_t *ret) must_check_;

/* Returns the number of lines of an entry that count. */
uint32_t suppress_entry_lines(const struct suppressions *set, const struct suppress_entry *entry);

/* Forgets what suppress_match.c has made. */
void suppressions_unprepare(struct suppressions *set);

#endif
