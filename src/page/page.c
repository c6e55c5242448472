/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A page from its documents and stacks to HTML: container, compressed, in the shell; with fewer
 * rows until it fits. */
#include "page/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/util.h"
#include "page/parts/packed.h"
#include "page/parts/shell.h"
#include "page/parts/stacks.h"
#include "page/parts/tree.h"

#define CONTAINER_MAGIC "HWPG"
#define CONTAINER_VERSION 1u
#define DATA_BEGIN "<script type=\"text/plain\" id=\"heapwise-data\">"
#define DATA_END "</script>"

/* Of what documents leave of the page, the part that moments may need. */
#define PAGE_MOMENTS_PART 4u

/* A document as it was written. */
struct written_document {
	struct text json;    /* empty: there is none */
	struct text problem; /* why; empty: there is one */
	size_t left_out;
};

/* A page on its way. */
struct page_draft {
	const struct page_wanted *wanted;
	uint64_t most_bytes; /* of what is written */
	struct page_shell shell;
	struct written_document *documents;
	size_t document_rows; /* limit that they were written with */
	struct page_ranks ranks;
	struct page_moments moments;
	size_t moment_step; /* 3: every third of them is in the page; 0: none */
	struct page_tree_ranks owner_ranks;
	struct buf packed;
	size_t packed_len;    /* of it; an estimate if it would not fit, and is empty */
	uint64_t fixed_bytes; /* of HTML without any stacks and owners */
};

/* How much of the columns is packed: the number of rows of stacks, and of owners. */
struct page_amount {
	size_t rows, owners;
};

static void drop_documents(struct page_draft *draft)
{
	for (size_t i = 0; draft->documents && i < draft->wanted->document_count; i++) {
		text_deinit(&draft->documents[i].json);
		text_deinit(&draft->documents[i].problem);
	}
	free(draft->documents);
	draft->documents = NULL;
}

static void draft_deinit(struct page_draft *draft)
{
	drop_documents(draft);
	page_ranks_deinit(&draft->ranks);
	page_moments_deinit(&draft->moments);
	page_tree_ranks_deinit(&draft->owner_ranks);
	buf_deinit(&draft->packed);
}

/* How many rows tables of a document have where those of others have at most `limit`. */
static size_t rows_of_document(const struct page_document *document, size_t limit)
{
	return document->rows_most ? min(document->rows_most, limit) : limit;
}

static struct error *write_document(
	const struct page_document *document, size_t limit, struct written_document *ret)
{
	const struct sink sink = {text_write, &ret->json};
	struct error *error = document->write(
		document->ctx, rows_of_document(document, limit), &sink, &ret->left_out);
	if (error && error->code == ERROR_INPUT) {
		text_add(&ret->problem, error->message);
		text_clear(&ret->json);
		error_destroy(error);
		error = NULL;
	}
	return error || !(ret->json.failed || ret->problem.failed) ? error : error_no_memory();
}

/* Writes all of them anew, with at most so many rows in a table. */
static struct error *write_documents(struct page_draft *draft, size_t limit)
{
	const struct page_wanted *wanted = draft->wanted;
	drop_documents(draft);
	draft->documents = calloc(wanted->document_count + 1, sizeof(*draft->documents));
	draft->document_rows = limit;
	struct error *error = draft->documents ? NULL : error_no_memory();
	for (size_t i = 0; !error && i < wanted->document_count; i++) {
		text_init(&draft->documents[i].json);
		text_init(&draft->documents[i].problem);
		error = write_document(&wanted->documents[i], limit, &draft->documents[i]);
	}
	return error;
}

static void put_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_string(json, text);
}

static void put_documents(const struct page_draft *draft, struct json *json)
{
	json_key(json, "documents");
	json_object_begin(json);
	for (size_t i = 0; i < draft->wanted->document_count; i++) {
		const struct text *text = &draft->documents[i].json;
		if (!text->len)
			continue;
		json_key(json, draft->wanted->documents[i].name);
		json_raw(json, text->data, text->len);
	}
	json_object_end(json);
}

/* How many moments are in the page. */
static size_t moments_left(const struct page_draft *draft)
{
	return draft->moments.problem || !draft->moment_step
		       ? 0
		       : page_moments_left(&draft->moments, draft->moment_step);
}

static void put_summed_up(struct json *json, const char *key, size_t count)
{
	json_key(json, key);
	if (count)
		json_u64(json, count);
	else
		json_null(json);
}

/* Of figures that only one of two files knows: which doesn't. profile may be NULL. */
static void put_unknown_figures(const struct profile *profile, struct json *json)
{
	json_key(json, "figures");
	json_object_begin(json);
	for (int i = 0; profile && profile->base && i < METRICS; i++) {
		const struct model *ignorant = page_stacks_ignorant(profile, (enum metric)i);
		const struct model *other =
			ignorant == profile->model ? profile->base : profile->model;
		if (ignorant && metric_is_known((enum metric)i, model_recording(other)))
			put_text(
				json, metric_name((enum metric)i), model_recording(ignorant)->path);
	}
	json_object_end(json);
}

/* Of documents that were written with a limit of their own: which. */
static void put_limits(const struct page_draft *draft, struct json *json)
{
	json_key(json, "limits");
	json_object_begin(json);
	for (size_t i = 0; i < draft->wanted->document_count; i++) {
		const struct page_document *document = &draft->wanted->documents[i];
		size_t rows = rows_of_document(document, draft->document_rows);
		if (rows == draft->document_rows || !draft->documents[i].json.len)
			continue;
		json_key(json, document->name);
		json_u64(json, rows);
	}
	json_object_end(json);
}

/* What is not in the page, and why. */
static void put_cut(
	const struct page_draft *draft, const struct page_stacks *stacks, struct json *json)
{
	const struct page_wanted *wanted = draft->wanted;
	json_key(json, "cut");
	json_object_begin(json);
	put_summed_up(json, "rows", stacks->summed_up);
	json_key(json, "moments");
	size_t left = moments_left(draft), all = draft->moments.moments.len;
	if (left && left < all)
		json_u64(json, all - left);
	else
		json_null(json);
	if (wanted->owners)
		put_summed_up(json, "owners", stacks->owners_summed_up);
	json_key(json, "limit");
	json_u64(json, draft->document_rows);
	put_limits(draft, json);
	json_key(json, "documents");
	json_object_begin(json);
	for (size_t i = 0; i < wanted->document_count; i++)
		if (draft->documents[i].left_out && draft->documents[i].json.len) {
			json_key(json, wanted->documents[i].name);
			json_u64(json, draft->documents[i].left_out);
		}
	json_object_end(json);
	json_key(json, "missing");
	json_object_begin(json);
	for (size_t i = 0; i < wanted->document_count; i++)
		if (draft->documents[i].problem.len)
			put_text(json, wanted->documents[i].name, draft->documents[i].problem.data);
	if (!left)
		put_text(json, "moments",
			draft->moments.problem ? draft->moments.problem
					       : "the page has no room for them");
	json_object_end(json);
	put_unknown_figures(wanted->profile, json);
	json_object_end(json);
}

static void put_header(
	const struct page_draft *draft, const struct page_stacks *stacks, struct json *json)
{
	json_object_begin(json);
	put_text(json, "schema", PAGE_SCHEMA);
	put_text(json, "writer", draft->wanted->writer);
	put_text(json, "kind", draft->wanted->kind);
	put_text(json, "title", draft->wanted->title);
	json_key(json, "asked");
	json_array_begin(json);
	for (size_t i = 0; i < draft->wanted->asked_count; i++)
		json_string(json, draft->wanted->asked[i]);
	json_array_end(json);
	put_documents(draft, json);
	put_cut(draft, stacks, json);
	json_key(json, "strings");
	json_array_begin(json);
	for (size_t i = 0; i < stacks->strings.list.len; i++)
		json_string(json, stacks->strings.list.data[i]);
	json_array_end(json);
	json_key(json, "columns");
	page_columns_describe(&stacks->columns, json);
	json_object_end(json);
	json_finish(json);
}

/* Adds the container (docs/schema/page-1.md) to `ret`. */
static struct error *put_container(
	const struct page_draft *draft, const struct page_stacks *stacks, struct buf *ret)
{
	_cleanup_(text_deinit) struct text header;
	_cleanup_free_ struct json *json = malloc(sizeof(*json));
	text_init(&header);
	if (!json)
		return error_no_memory();
	json_init(json, text_write, &header);
	put_header(draft, stacks, json);
	if (header.failed)
		return error_no_memory();
	if (header.len > UINT32_MAX)
		return error_create(ERROR_ENVIRONMENT, "the page's documents are too large");
	buf_bytes(ret, CONTAINER_MAGIC, strlen(CONTAINER_MAGIC));
	buf_u32(ret, CONTAINER_VERSION);
	buf_u32(ret, (uint32_t)header.len);
	buf_bytes(ret, header.data, header.len);
	return page_align(ret) && page_columns_put(&stacks->columns, ret) ? NULL
									  : error_no_memory();
}

/* Bytes of HTML around the data. */
static uint64_t frame_bytes(const struct page_draft *draft)
{
	return draft->shell.before_len + strlen(DATA_BEGIN) + strlen(DATA_END) +
	       draft->shell.after_len;
}

/* How large packed data may be; SIZE_MAX: less could not be shown. */
static size_t packed_room(const struct page_draft *draft, bool is_least)
{
	uint64_t most = draft->most_bytes, around = frame_bytes(draft);
	return is_least || around > most ? SIZE_MAX : (size_t)((most - around) / 4 * 3);
}

/* Packs the page with that much of its columns. */
static struct error *pack_amount(struct page_draft *draft, const struct page_amount *amount)
{
	const struct page_wanted *wanted = draft->wanted;
	_cleanup_(page_stacks_deinit) struct page_stacks stacks;
	_cleanup_(buf_deinit) struct buf container;
	page_stacks_init(&stacks);
	buf_init(&container);
	buf_clear(&draft->packed);
	bool bare = draft->wanted->container;
	struct error *error = wanted->profile ? page_stacks_build(wanted->profile, &draft->ranks,
							amount->rows, &stacks)
					      : NULL;
	if (!error && moments_left(draft) &&
		!page_moments_put(&draft->moments, draft->moment_step, stacks.row_numbers,
			stacks.row_count, &stacks.columns))
		error = error_no_memory();
	if (!error && wanted->owners)
		error = page_tree_build(
			wanted->owners, &draft->owner_ranks, amount->owners, &stacks);
	if (!error)
		error = put_container(draft, &stacks, bare ? &draft->packed : &container);
	if (!error && bare)
		draft->packed_len = draft->packed.len;
	else if (!error)
		error = page_pack_within(container.data, container.len,
			packed_room(draft, !amount->rows && !amount->owners), &draft->packed,
			&draft->packed_len);
	return error;
}

static uint64_t html_bytes(const struct page_draft *draft)
{
	if (draft->wanted->container)
		return draft->packed_len;
	return frame_bytes(draft) + page_base64_len(draft->packed_len);
}

static bool page_fits(const struct page_draft *draft)
{
	return html_bytes(draft) <= draft->most_bytes;
}

/* Sets *ret to the bytes of HTML that the moments of that step need, with all rows. */
static struct error *measure_moments(const struct page_draft *draft, size_t step, uint64_t *ret)
{
	_cleanup_(page_stacks_deinit) struct page_stacks stacks;
	_cleanup_(buf_deinit) struct buf raw, packed;
	page_stacks_init(&stacks);
	buf_init(&raw);
	buf_init(&packed);
	if (!page_moments_put(&draft->moments, step, NULL, draft->moments.rows, &stacks.columns) ||
		!page_columns_put(&stacks.columns, &raw))
		return error_no_memory();
	struct error *error = page_pack(raw.data, raw.len, &packed);
	*ret = page_base64_len(packed.len);
	return error;
}

/* Leaves moments out until they need a part of the page's room at most, all of them if even the
 * peak and the end need more. */
static struct error *choose_moments(struct page_draft *draft)
{
	const struct page_moments *moments = &draft->moments;
	uint64_t bytes = 0, room = (draft->most_bytes - draft->fixed_bytes) / PAGE_MOMENTS_PART;
	if (moments->problem)
		return NULL;
	for (size_t step = 1; step < moments->moments.len; step *= 2) {
		struct error *error = measure_moments(draft, step, &bytes);
		if (error)
			return error;
		if (bytes <= room) {
			draft->moment_step = step;
			return NULL;
		}
	}
	return NULL;
}

/* A part of it, and less than it. */
static size_t reduce_count(size_t count, double part)
{
	return count ? min((size_t)((double)count * part), count - 1) : 0;
}

/* Packs as much of the columns as fits, about: the size of each try suggests the next. */
static struct error *pack_fitting(struct page_draft *draft)
{
	struct page_amount amount = {
		draft->ranks.count, min(draft->owner_ranks.count, (size_t)PAGE_OWNERS_MAX)};
	struct error *error = pack_amount(draft, &amount);
	while (!error && !page_fits(draft) && (amount.rows || amount.owners)) {
		double room = (double)(draft->most_bytes - draft->fixed_bytes);
		double part = room / (double)(html_bytes(draft) - draft->fixed_bytes) * 0.95;
		amount.rows = reduce_count(amount.rows, part);
		amount.owners = reduce_count(amount.owners, part);
		error = pack_amount(draft, &amount);
	}
	if (error || page_fits(draft))
		return error;
	draft->moment_step = 0;
	return pack_amount(draft, &amount);
}

/* Documents get shorter tables while they leave stacks less than half of the page's room. */
static struct error *choose_documents(struct page_draft *draft)
{
	uint64_t most = draft->most_bytes,
		 around = draft->wanted->container ? 0 : frame_bytes(draft);
	uint64_t half = most > around ? around + (most - around) / 2 : most;
	size_t limit = PAGE_DOCUMENT_ROWS;
	const struct page_amount nothing = {0, 0};
	struct error *error = write_documents(draft, limit);
	if (!error)
		error = pack_amount(draft, &nothing);
	while (!error && html_bytes(draft) > half && limit > 1) {
		limit /= 10;
		error = write_documents(draft, limit);
		if (!error)
			error = pack_amount(draft, &nothing);
	}
	draft->fixed_bytes = html_bytes(draft);
	if (error || page_fits(draft))
		return error;
	return error_create(ERROR_ENVIRONMENT,
		"the page doesn't fit into %" PRIu64 " bytes: even without stacks it has %" PRIu64,
		draft->most_bytes, draft->fixed_bytes);
}

static void put_html(const struct page_draft *draft, const struct sink *sink)
{
	const struct page_shell *shell = &draft->shell;
	if (draft->wanted->container)
		sink->write(sink->ctx, (const char *)draft->packed.data, draft->packed.len);
	else if (sink->write(sink->ctx, shell->before, shell->before_len) &&
		 sink->write(sink->ctx, DATA_BEGIN, strlen(DATA_BEGIN)) &&
		 page_put_base64(draft->packed.data, draft->packed.len, sink) &&
		 sink->write(sink->ctx, DATA_END, strlen(DATA_END)))
		sink->write(sink->ctx, shell->after, shell->after_len);
}

/* Moments and ranks of stacks. */
static struct error *build_ranks(struct page_draft *draft)
{
	const struct page_wanted *wanted = draft->wanted;
	struct error *error = page_moments_build(wanted, &draft->moments);
	return error ? error : page_ranks_build(wanted->profile, &draft->moments, &draft->ranks);
}

static uint64_t most_bytes_of(const struct page_wanted *wanted)
{
	if (wanted->most_bytes)
		return wanted->most_bytes;
	return wanted->container ? PAGE_CONTAINER_BYTES_MAX : PAGE_BYTES_MAX;
}

struct error *page_write(const struct page_wanted *wanted, const struct sink *sink)
{
	_cleanup_(draft_deinit) struct page_draft draft = {
		.wanted = wanted, .most_bytes = most_bytes_of(wanted), .shell = page_shell()};
	if (!draft.shell.before && !wanted->container)
		return error_create(ERROR_ENVIRONMENT,
			"this heapwise was built without its HTML page (-Dui=disabled)");
	buf_init(&draft.packed);
	page_moments_init(&draft.moments);
	draft.moments.problem = "a heap is of one moment";
	struct error *error = wanted->profile ? build_ranks(&draft) : NULL;
	if (!error && wanted->owners)
		error = page_tree_ranks_build(
			wanted->owners, wanted->owner_count, &draft.owner_ranks);
	if (!error)
		error = choose_documents(&draft);
	if (!error)
		error = choose_moments(&draft);
	if (!error)
		error = pack_fitting(&draft);
	if (!error)
		put_html(&draft, sink);
	return error;
}

bool page_is_one(const void *data, size_t len)
{
	bool container = len >= strlen(CONTAINER_MAGIC) &&
			 !memcmp(data, CONTAINER_MAGIC, strlen(CONTAINER_MAGIC));
	return container || (len && memmem(data, len, DATA_BEGIN, strlen(DATA_BEGIN)));
}
