/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks three questions as a program does that has heapwise in it: it includes src/query alone, and
 * is linked with what is below src/cli and src/views.
 *
 *	ask sites RECORDING MOMENT FUNCTION    allocation sites: "blocks bytes function"
 *	ask leaks RECORDING|CORE               "kind blocks bytes function"
 *	ask types CORE                         "blocks bytes type"
 *
 * What queries note goes to stderr, "note: …"; an error is "error CODE: …", and the exit status 1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query/heap_session.h"
#include "query/leak_search.h"
#include "query/query.h"
#include "query/stacks.h"

static void print_note(void *ctx, const char *text)
{
	unsigned *notes = ctx;
	++*notes;
	fprintf(stderr, "note: %s\n", text);
}

static const char *place_name(const struct shown_frame *place)
{
	return place && place->function ? place->function : "?";
}

/* The largest sites, by live bytes, of a moment and under a function. */
static struct error *print_sites(
	struct query *query, const char *recording, const char *moment, const char *function)
{
	struct model *model = NULL;
	struct stacks stacks = {.model = NULL};
	struct row_list rows;
	const struct stacks_wanted wanted = {.metric = METRIC_LIVE_BYTES};
	row_list_init(&rows);
	struct error *error = moments_set(&query->moments, moment, false);
	if (!error)
		error = filter_set(&query->filter, FILTER_FOCUS, function);
	if (!error)
		error = query_open(query, recording, 0, &model);
	if (!error)
		error = stacks_build(query, model, NULL, &wanted, &stacks);
	if (!error)
		error = stacks_select(&stacks, METRIC_LIVE_BYTES, &rows);
	for (size_t i = 0; !error && i < rows.len; i++)
		printf("%" PRIu64 " %" PRIu64 " %s\n", rows.data[i]->sums->live_blocks,
			rows.data[i]->sums->live_bytes, place_name(rows.data[i]->place));
	row_list_deinit(&rows);
	stacks_deinit(&stacks);
	model_destroy(model);
	return error;
}

static struct error *print_leaks(struct query *query, const char *path)
{
	struct model *model = NULL;
	struct leak_answer answer = {.resolver = NULL};
	const struct leaks_options options = {.at_end = true, .separate_libraries = true};
	struct error *error = leak_search_open(query->context, &query->names, path, false, &model);
	if (!error)
		error = leak_answer_build(model, &options, &answer);
	for (size_t i = 0; !error && i < answer.leaks.rows.len; i++) {
		const struct leak_row *row = &answer.leaks.rows.data[i];
		printf("%s %" PRIu64 " %" PRIu64 " %s\n", leak_class_name(row->class), row->blocks,
			row->bytes, place_name(answer.leaks.stacks.data[row->stack].place));
	}
	leak_answer_deinit(&answer);
	model_destroy(model);
	return error;
}

static struct error *print_types(struct query_context *context, const char *core)
{
	struct heap_session session;
	heap_session_init(&session, context);
	session.core = core;
	struct error *error = heap_session_open(&session);
	if (!error)
		error = heap_session_scan(&session);
	const struct heap_type_vec *types = &session.scan.types.types;
	for (size_t i = 0; !error && i < types->len; i++)
		printf("%" PRIu64 " %" PRIu64 " %s\n", types->data[i].blocks, types->data[i].bytes,
			types->data[i].name);
	heap_session_close(&session);
	return error;
}

static struct error *answer(struct query *query, int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "sites") == 0)
		return print_sites(query, argv[2], argv[3], argv[4]);
	if (argc == 3 && strcmp(argv[1], "leaks") == 0)
		return print_leaks(query, argv[2]);
	if (argc == 3 && strcmp(argv[1], "types") == 0)
		return print_types(query->context, argv[2]);
	return error_create(ERROR_USAGE, "it wants sites, leaks or types");
}

int main(int argc, char **argv)
{
	unsigned notes = 0;
	struct query_context context;
	query_context_init(&context, &(struct query_listener){.ctx = &notes, .note = print_note});
	struct query query = {.context = &context};
	struct error *error = answer(&query, argc, argv);
	int status = error ? 1 : 0;
	if (error)
		fprintf(stderr, "error %d: %s\n", (int)error->code, error->message);
	error_destroy(error);
	query_deinit(&query);
	query_context_deinit(&context);
	fprintf(stderr, "%u notes\n", notes);
	return status;
}
