/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the forms of the leaks view share. Inside views/ only. */
#ifndef VIEWS_LEAKS_PAGE_H
#define VIEWS_LEAKS_PAGE_H

#include "analysis/evidence.h"
#include "analysis/leaks.h"
#include "analysis/unrecorded.h"
#include "table/answer.h"
#include "views/leaks_view.h"

struct leaks_page {
	const struct model *model;
	const struct leaks_view_options *options;
	struct leaks leaks;
	struct unrecorded_groups unrecorded;
	struct text verdict; /* sentences, each with a newline */
	struct text notes;   /* when and how it was searched, and what limits the figures */
	struct resolver *resolver;
	size_t error_count;      /* of the model that count here, beside leaks: wrong frees */
	const char *error_doubt; /* why these are not certain; NULL: they are */
	unsigned sure_kinds; /* of the kinds that are errors, of which what was found surely is one
			      */
	const char *doubt;   /* why it is undecided whether there are errors; NULL: it is decided */
	size_t limit;
	size_t left_out; /* rows, by the limit: set when an answer was written */
	/* Of leaks_answer.c. */
	struct leak_sum left, by_heuristic[LEAK_HEURISTICS];
	size_t heuristics[LEAK_HEURISTICS], heuristic_count;
};

/* Whether a row is listed: of a kind that is shown, and neither suppressed nor a library's. */
bool leaks_shows(const struct leaks_page *page, const struct leak_row *row);
/* Why it is undecided whether there are errors of any sort; NULL: it is decided. */
static inline const char *leaks_any_doubt(const struct leaks_page *page)
{
	return page->doubt ? page->doubt : page->error_doubt;
}
/* Rows that count as errors: as with memcheck none are without --leak-check=full. */
uint64_t leaks_errors(const struct leaks_page *page);
static inline const struct leak_stack *leaks_stack(
	const struct leaks_page *page, const struct leak_row *row)
{
	return &page->leaks.stacks.data[row->stack];
}

/* Adds a whole path: "global g_cache (cache.c:12) → +0x18 → block of 4096 B allocated at …". */
void leaks_add_path(const struct leaks *leaks, uint32_t path, struct text *out);
/* The group "leaks" of the document. */
struct error *leaks_put(struct leaks_page *page, struct answer *answer) must_check_;
/* Adds an entry of a suppression file that fits the row. */
struct error *leaks_add_suppression(
	const struct leaks_page *page, const struct leak_row *row, struct text *out) must_check_;
/* The same where only memory can lack: the text has failed then. */
void leaks_put_suppression(
	const struct leaks_page *page, const struct leak_row *row, struct text *out);
/* The thread that allocated the example of a row; NULL: not known. */
const struct thread *leaks_example_thread(const struct leaks *leaks, const struct leak_row *row);
/* How long before the search. False: not known. */
bool leaks_example_age(const struct leaks *leaks, const struct leak_row *row, uint64_t *ret_ns);
/* "malloc", or "" for a stack that begins with no known function. */
const char *leaks_function(const struct leak_stack *stack);

/* "definitely lost" */
const char *leaks_kind_words(const struct leak_row *row);
/* "stdstring": the names of --leak-check-heuristics, by the number of the bit. */
const char *leaks_heuristic_name(unsigned number);
/* "3.4 KiB in 12 blocks" */
void leaks_add_quantity(struct text *out, uint64_t bytes, uint64_t blocks);
/* A row in one sentence without a full stop. */
void leaks_add_message(const struct leaks_page *page, const struct leak_row *row, struct text *out);
/* Whether a row is of a kind that is an error, and whether it is one for sure. */
bool leaks_may_be_error(const struct leaks_page *page, const struct leak_row *row);
bool leaks_is_error(const struct leaks_page *page, const struct leak_row *row);
/* What stays of a row when lines move: of its kind and functions. False: no memory. */
bool leaks_fingerprint(const struct leaks_page *page, const struct leak_row *row, uint64_t *ret);

/* Errors beside leaks, in the forms that have them (leaks_errors.c). */
const struct program_error *leaks_error_at(const struct leaks_page *page, size_t number);
/* How many of them are shown. */
size_t leaks_errors_shown(const struct leaks_page *page);
/* Its stack number `i`: the frames, innermost first, and the sentence on it (""). False: no memory.
 */
bool leaks_error_stack(const struct leaks_page *page, size_t number, size_t i,
	struct frame_vec *ret, const char **ret_what);
/* What memcheck calls it: "InvalidFree". */
const char *leaks_error_kind(const struct program_error *error);
void leaks_errors_text(const struct leaks_page *page, struct text *out);
void leaks_errors_memcheck(const struct leaks_page *page, struct text *out);
void leaks_errors_junit(const struct leaks_page *page, struct text *out);
/* Test cases that these are. */
size_t leaks_errors_cases(const struct leaks_page *page);
/* For programs: the group "other_errors". */
extern const struct table_type leaks_errors_group;
void leaks_errors_put(const struct leaks_page *page, struct answer *answer);
/* Their rule in SARIF. */
#define LEAKS_ERROR_RULE "memory-error"
void leaks_errors_github(const struct leaks_page *page, struct text *out);
struct fingerprint_map;
struct json;
struct error *leaks_errors_sarif(const struct leaks_page *page, struct json *json, size_t rule,
	struct fingerprint_map *seen) must_check_;
struct leaks_sarif_rule {
	const char *id;
	size_t index; /* of the document's rules */
};
/* A result that is an error. */
struct error *leaks_error_sarif(const struct leaks_page *page, size_t number, struct json *json,
	const struct leaks_sarif_rule *rule, struct fingerprint_map *seen) must_check_;
/* Its kind; "error": unknown. */
const char *leaks_error_word(const struct program_error *error);

/* The forms. Text ones add to a text, JSON ones write to the sink. */
struct error *leaks_answer(struct leaks_page *page, struct answer *answer) must_check_;
struct error *leaks_memcheck(const struct leaks_page *page, struct text *out) must_check_;
struct error *leaks_junit(const struct leaks_page *page, struct text *out) must_check_;
struct error *leaks_github(const struct leaks_page *page, struct text *out) must_check_;
struct error *leaks_valgrind(const struct leaks_page *page, const struct sink *sink) must_check_;
struct error *leaks_gperftools(const struct leaks_page *page, const struct sink *sink) must_check_;
struct error *leaks_sarif(const struct leaks_page *page, const struct sink *sink) must_check_;

#endif
