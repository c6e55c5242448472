/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_html.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/util.h"
#include "cli/heap/heap_verbs.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/page_output.h"
#include "heap/owner_tree.h"
#include "page/page.h"
#include "query/stacks.h"
#include "views/heap_answers.h"
#include "views/heap_owner_names.h"
#include "views/leaks_view.h"

/* What a document is: the answer of a verb; or one about the model of the heap. */
struct heap_part {
	const char *name;
	heap_answer_fn *ask; /* NULL: of the model */
	struct error *(*write_model)(
		const struct heap_page *page, const struct sink *sink, size_t *left_out);
};

static struct error *write_heap_report(
	const struct heap_page *page, const struct sink *sink, size_t *left_out)
{
	const struct view_options options = {.sort = METRICS,
		.json = true,
		.limit = page->limit,
		.timeline = TIMELINE_DEFAULT,
		.left_out = left_out};
	return view_write(view_find("summary"), page->model, &options, sink);
}

static struct error *write_heap_leaks(
	const struct heap_page *page, const struct sink *sink, size_t *left_out)
{
	const struct leaks_view_options options = {.form = LEAKS_JSON,
		.detail = LEAKS_FULL,
		.show_kinds = (1u << LEAK_KINDS) - 1,
		.error_kinds = 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE,
		.limit = page->limit};
	struct leaks_outcome outcome = {.left_out = 0};
	struct error *error = leaks_view_write(page->model, &options, sink, &outcome);
	*left_out += outcome.left_out;
	return error;
}

static const struct heap_part heap_parts[] = {
	{"report", NULL, write_heap_report},
	{"summary", heap_summary_answer, NULL},
	{"leaks", NULL, write_heap_leaks},
	{"dominators", heap_dominators_answer, NULL},
	{"fragmentation", heap_fragments_answer, NULL},
	{"thread_stacks", heap_threads_answer, NULL},
	{"maps", heap_maps_answer, NULL},
};

/* One of them, with the heap that it is of. */
struct heap_document {
	struct heap_look *look;
	const struct heap_part *part;
};

static struct error *write_heap_part(
	void *ctx, size_t limit, const struct sink *sink, size_t *ret_left_out)
{
	const struct heap_document *document = ctx;
	struct heap_page page = heap_look_page(document->look);
	page.json = true;
	page.csv = page.json_before = false;
	page.limit = limit;
	page.left_out = ret_left_out;
	return document->part->ask ? heap_answer_write(&page, document->part->ask, sink)
				   : document->part->write_model(&page, sink, ret_left_out);
}

/* The columns of a page: who retains what, and stacks of who allocated it if a recording says. */
struct heap_columns {
	struct arena arena; /* names */
	struct page_owner *owners;
	size_t owner_count;
	struct query query;
	struct stacks stacks;
};

static void heap_columns_init(struct heap_columns *columns)
{
	*columns = (struct heap_columns){.query = {.context = cli_context()}};
	arena_init(&columns->arena);
}

static void heap_columns_deinit(struct heap_columns *columns)
{
	stacks_deinit(&columns->stacks);
	arena_deinit(&columns->arena);
	free(columns->owners);
}

static struct error *name_owner(const struct heap_scan *scan, const struct retained *retained,
	const struct heap_owner *owner, struct heap_columns *columns, struct page_owner *ret)
{
	_cleanup_(text_deinit) struct text label;
	text_init(&label);
	heap_owner_label(scan, retained, owner, &label);
	*ret = (struct page_owner){.parent = owner->parent,
		.kind = heap_owner_kind_name(scan, retained, owner),
		.module = heap_owner_module(retained, owner),
		.bytes = owner->bytes,
		.blocks = owner->blocks};
	if (!label.failed)
		ret->label = arena_strndup(&columns->arena, label.data, label.len);
	return ret->label ? NULL : error_no_memory();
}

static struct error *name_owners(const struct heap_scan *scan, const struct retained *retained,
	const struct heap_owner_tree *tree, struct heap_columns *columns)
{
	columns->owner_count = tree->nodes.len;
	columns->owners = calloc(tree->nodes.len + 1, sizeof(*columns->owners));
	struct error *error = columns->owners ? NULL : error_no_memory();
	for (size_t i = 0; !error && i < tree->nodes.len; i++)
		error = name_owner(
			scan, retained, &tree->nodes.data[i], columns, &columns->owners[i]);
	return error;
}

static struct error *find_owners(const struct heap_scan *scan, struct heap_columns *columns)
{
	_cleanup_(heap_retained_deinit) struct retained retained;
	_cleanup_(heap_owner_tree_deinit) struct heap_owner_tree tree = {.nodes = {.len = 0}};
	struct error *error = heap_retained(scan, 0, &retained);
	if (!error)
		error = heap_owner_tree_make(scan, &retained, &tree);
	return error ? error : name_owners(scan, &retained, &tree, columns);
}

/* Nobody knows who allocated blocks without a recording: then there are no stacks. */
static struct error *find_stacks(struct heap_look *look, struct heap_columns *columns)
{
	const struct stacks_wanted wanted = {.metric = METRICS};
	return heap_session_joined(&look->heap) ? stacks_build(&columns->query, look->heap.model,
							  NULL, &wanted, &columns->stacks)
						: NULL;
}

struct heap_page_writing {
	struct heap_look *look;
	const struct heap_html *wanted;
	const struct heap_columns *columns;
};

static struct error *write_heap_page(void *ctx, const struct sink *sink)
{
	const struct heap_page_writing *writing = ctx;
	const struct heap_columns *columns = writing->columns;
	struct heap_document parts[ARRAY_SIZE(heap_parts)];
	struct page_document documents[ARRAY_SIZE(heap_parts)];
	for (size_t i = 0; i < ARRAY_SIZE(heap_parts); i++) {
		parts[i] = (struct heap_document){writing->look, &heap_parts[i]};
		documents[i] = (struct page_document){
			.name = heap_parts[i].name, .write = write_heap_part, .ctx = &parts[i]};
	}
	const struct page_wanted wanted = {
		.writer = "heapwise " HW_VERSION,
		.kind = "heap",
		.title = path_last_part(heap_session_name(&writing->look->heap)),
		.documents = documents,
		.document_count = ARRAY_SIZE(documents),
		.profile = columns->stacks.model ? &columns->stacks.profile : NULL,
		.owners = columns->owners,
		.owner_count = columns->owner_count,
		.most_bytes = writing->wanted->most_bytes,
		.container = writing->wanted->container,
	};
	return page_write(&wanted, sink);
}

/* "heap-4711" of a process, else the core. */
static const char *name_output(const struct heap_session *session, char *ret, size_t room)
{
	if (session->core)
		return session->core;
	snprintf(ret, room, "heap-%d", (int)session->pid);
	return ret;
}

int heap_html_write(struct heap_look *look, const struct heap_html *wanted)
{
	_cleanup_(heap_columns_deinit) struct heap_columns columns;
	char name[32];
	heap_columns_init(&columns);
	struct error *error = heap_session_find_leaks(&look->heap);
	if (!error)
		error = find_owners(&look->heap.scan, &columns);
	if (!error)
		error = find_stacks(look, &columns);
	if (error)
		return message_error(error);
	struct heap_page_writing writing = {look, wanted, &columns};
	const struct page_output output = {.path = wanted->output      ? wanted->output
						   : wanted->container ? OUTPUT_STDOUT
								       : NULL,
		.of = name_output(&look->heap, name, sizeof(name)),
		.keeps_end = true,
		.force = wanted->force,
		.ways = wanted->ways};
	return heap_verbs_check_found(look, page_output_write(&output, write_heap_page, &writing));
}
