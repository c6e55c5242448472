/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An answer on its way out: what answers hands over tables, records and sentences in the order in
 * which people read them; a form lays them out. Forms are rows of struct answer_form: text, JSON
 * and CSV are here, others need no more than this header.
 *
 *	answer_begin(answer, &maps_answer);
 *	answer_table(answer, &kinds);
 *	answer_table(answer, &maps);
 *	error = answer_end(answer);
 */
#ifndef TABLE_ANSWER_H
#define TABLE_ANSWER_H

#include "base/error.h"
#include "base/sink.h"
#include "table/table.h"

/* One kind of document. */
struct answer_type {
	const char *schema; /* "heapwise.heap-maps/1" */
	const char *
		before; /* what it was called in the release before, for --json=1; NULL: the same */
	const char *from; /* the command that writes it, for docs/schema */
	const char *says; /* likewise: what it is about */
	/* All that it may have, in this order; NULL ends them. */
	const struct table_type *const *tables;
	const struct table_type *main; /* the one that CSV has; NULL: there is none */
	/* What is nested in several of these, for docs/schema: described once, at the end. NULL
	 * ends them; NULL: none. */
	const struct table_type *const *parts;
	/* Of what another document has besides in some cases, for docs/schema: the name of the
	 * page, its title, and that document, whose sections it refers to. NULL: it is one of its
	 * own. */
	const char *page, *title;
	const struct answer_type *beside;
};

struct answer;

struct answer_form {
	/* People read it: of long tables it has the first rows unless more are asked for. */
	bool is_brief;
	void (*begin)(struct answer *answer, const struct answer_type *type);
	void (*table_begin)(struct answer *answer, const struct table *table);
	void (*row)(struct answer *answer, const struct table *table, size_t row);
	void (*table_end)(struct answer *answer, const struct table *table);
	void (*record)(struct answer *answer, const struct table *record);
	/* A group begins, or (NULL) ends; NULL: this form shows none. */
	void (*group)(struct answer *answer, const struct table_type *group);
	struct text *(*prose)(struct answer *answer); /* NULL: this form has none */
	struct error *(*end)(struct answer *answer);
	void (*destroy)(struct answer *answer);
};

/* What each form begins with. */
struct answer {
	const struct answer_form *form;
	const struct answer_type *type;
	bool stopped; /* the sink wants no more: rows may be left out */
	/* Rows of tables of answer_table() beyond this limit, so far; 0: none are counted. */
	size_t asked_limit, left_out;
};

/* Begins a document. Nothing is written before, so that who fails first writes nothing. */
void answer_begin(struct answer *answer, const struct answer_type *type);
/* A table: its rows in their order, up to its limit. */
void answer_table(struct answer *answer, const struct table *table);
/* The first row of a table, as a record: an object of its own, or of the document if its type has
 * no name. */
void answer_record(struct answer *answer, const struct table *record);
/* What comes until the end is in an object of the group's name. */
void answer_group_begin(struct answer *answer, const struct table_type *group);
void answer_group_end(struct answer *answer);
/* As above, for a type and its context. */
static inline void answer_record_of(
	struct answer *answer, const struct table_type *type, const void *context)
{
	const struct table record = {type, context, 1, .limit = 1};
	answer_record(answer, &record);
}

/* Sentences for people between tables: where to add them, NULL in forms for programs. What they
 * say must be in a table or a record, too. */
struct text *answer_prose(struct answer *answer);
/* Ends the document and hands the rest over. Errors are those of memory; a sink that stopped knows
 * why. */
struct error *answer_end(struct answer *answer) must_check_;

/* A table whose rows are found one by one: `table` is the same in all calls, its context may
 * change between them. */
void answer_table_begin(struct answer *answer, const struct table *table);
void answer_row(struct answer *answer, const struct table *table, size_t row);
void answer_table_end(struct answer *answer, const struct table *table);

/* Whether people read it. */
static inline bool answer_is_brief(const struct answer *answer)
{
	return answer->form->is_brief;
}

/* Rows of a table: `limit` if the user asked for one, otherwise `brief` for people and all for
 * programs. 0 stands for none asked. */
size_t answer_limit(const struct answer *answer, size_t limit, size_t brief);

/* Forms. The caller makes one, lays out one answer with it, and closes it. */
struct answer *answer_text_create(const struct sink *sink) must_check_;
/* `before`: under the schema's name of the release before. NULL: no memory, as of the others. */
struct answer *answer_json_create(const struct sink *sink, bool before) must_check_;
/* The main table alone, as RFC 4180 has it, with a heading; unknown and absent cells are empty. */
struct answer *answer_csv_create(const struct sink *sink) must_check_;
/* As a part of a file that has several answers of one type: a first column says which one
 * a row is of. */
struct csv_part {
	const char *column, *value; /* borrowed; column NULL: there is none */
	bool *has_heading;          /* the file has one: becomes true. NULL: it has none */
};
struct answer *answer_csv_part_create(
	const struct sink *sink, const struct csv_part *part) must_check_;
void answer_destroy(struct answer *answer);

#endif
