/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_inherited.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "sources/events/hpw_journal.h"
#include "sources/events/hpw_replay.h"
#include "sources/foreign/stack_rows.h"
#include "sources/recording/code_copy.h"
#include "sources/recording/hpw_file.h"
#include "sources/recording/hpw_footer.h"
#include "sources/recording/hpw_tables.h"

/* A chain of forks longer than this is reported up to here. */
#define GENERATIONS_MAX 64u

/* One parent's recording, read as far as the fork. */
struct parent {
	struct input input;
	struct model *model;
	struct hpw_damage damage;
	struct hpw_file file;
	struct hpw_tables tables;
	struct hpw_footer footer;
	struct hpw_replay replay;
	char *path;
	char mark[HPW_MARK_FORK_BYTES];
};

static void parent_deinit(struct parent *parent)
{
	input_close(&parent->input);
	hpw_file_deinit(&parent->file);
	hpw_tables_deinit(&parent->tables);
	hpw_footer_deinit(&parent->footer);
	hpw_replay_deinit(&parent->replay);
	model_destroy(parent->model);
	free(parent->path);
}

static bool is_base_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* The file of that name beside another. */
static struct error *hpw_inherited_beside(const char *file, const char *name, char **ret)
{
	const char *slash = strrchr(file, '/');
	int folder = slash ? (int)(slash - file + 1) : 0;
	if (asprintf(ret, "%.*s%s", folder, file, name) < 0) {
		*ret = NULL;
		return error_no_memory();
	}
	return NULL;
}

static struct error *read_tables(struct parent *parent)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < parent->file.chunks.len; i++) {
		const struct hpw_chunk *chunk = &parent->file.chunks.data[i];
		bool in_footer = chunk->type == HPW_SUMMARY;
		if (!in_footer && !hpw_tables_has(chunk->type))
			continue;
		_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
		error = hpw_file_payload(&parent->file, chunk, &payload);
		if (!error && in_footer)
			error = hpw_footer_decode(&parent->footer, chunk->type, &payload);
		else if (!error)
			error = hpw_tables_decode(&parent->tables, chunk->type, &payload);
	}
	return error;
}

static struct error *read_events(struct parent *parent)
{
	struct error *error = NULL;
	struct hpw_replay *replay = &parent->replay;
	for (size_t i = 0; !error && !replay->reached && i < parent->file.chunks.len; i++) {
		const struct hpw_chunk *chunk = &parent->file.chunks.data[i];
		if (chunk->type != HPW_EVENTS)
			continue;
		_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
		uint64_t missing = 0;
		error = hpw_file_payload(&parent->file, chunk, &payload);
		if (!error)
			error = hpw_replay_chunk(replay, &payload, &missing);
		if (!error && missing)
			error = error_create(ERROR_INPUT,
				"%" PRIu64 " steps before the fork are missing", missing);
	}
	if (!error && !replay->reached)
		error = error_create(ERROR_INPUT, "the fork is not among its events");
	/* Which of them before the fork, the sum does not say. */
	if (!error && (replay->lost || parent->footer.summary[HPW_SUM_LOST]))
		error = error_create(ERROR_INPUT, "events were lost while it was recorded");
	return error;
}

/* ERROR_INPUT: it does not tell. */
static struct error *parent_read(struct parent *parent, uint64_t forked_at)
{
	struct error *error = input_open_file(&parent->input, parent->path);
	if (error) {
		parent->input.fd = -1;
		return error;
	}
	error = build_create(&parent->model);
	if (error)
		return error;
	parent->damage.model = parent->tables.model = parent->model;
	error = hpw_file_open(&parent->file, &parent->input, &parent->damage);
	struct hpw_ring ring;
	if (!error)
		error = hpw_journal_ring(&parent->file, &parent->damage, &ring);
	if (!error)
		error = read_tables(parent);
	if (!error && strcmp(model_recording(parent->model)->mode, "exact") != 0)
		error = error_create(ERROR_INPUT, "it does not have every event");
	if (!error)
		error = hpw_replay_init(
			&parent->replay, parent->model, hpw_replay_blocks_max(parent->input.bytes));
	snprintf(parent->mark, sizeof(parent->mark), HPW_MARK_FORK "%" PRIx64, forked_at);
	parent->replay.until = parent->mark;
	return error ? error : read_events(parent);
}

/* Where a parent's numbers are in the child's model. */
struct moved {
	uint32_t first_module;
	uint32_t *stacks; /* by the parent's number; 0: not needed, or the root */
	uint32_t count;   /* of those needed */
};

static void moved_deinit(struct moved *moved)
{
	free(moved->stacks);
}

static bool has_left(const struct parent *parent, size_t site)
{
	return parent->replay.sites[site].live_blocks != 0;
}

/* Numbers the stacks of what is left, and their callers', in the same order. */
static struct error *number_stacks(
	const struct parent *parent, const struct model *model, struct moved *ret)
{
	size_t limit = model_stack_limit(parent->model), sites;
	const struct site *site = model_sites(parent->model, &sites);
	ret->stacks = calloc(limit + 1, sizeof(*ret->stacks));
	if (!ret->stacks)
		return error_no_memory();
	for (size_t i = 0; i < sites; i++) {
		struct stack_id at = site[i].stack;
		for (; has_left(parent, i) && at.value && !ret->stacks[at.value];
			at = model_stack_parent(parent->model, at))
			ret->stacks[at.value] = 1;
	}
	uint32_t next = (uint32_t)model_stack_limit(model);
	for (size_t i = 1; i < limit; i++)
		if (ret->stacks[i])
			ret->stacks[i] = next + ret->count++;
	return NULL;
}

static struct error *move_modules(
	const struct parent *parent, struct model *model, struct moved *ret)
{
	struct error *error = NULL;
	ret->first_module = (uint32_t)model_module_limit(model);
	size_t limit = model_module_limit(parent->model);
	for (uint32_t i = 1; !error && i < limit; i++) {
		const struct module *module = model_module(parent->model, (struct module_id){i});
		error = build_module(model, (struct module_id){ret->first_module + i - 1}, module,
			module->path, strlen(module->path));
	}
	return error;
}

static struct error *move_stacks(
	const struct parent *parent, struct model *model, const struct moved *moved)
{
	uint32_t first = (uint32_t)model_stack_limit(model);
	_cleanup_(stack_rows_deinit) struct stack_rows rows;
	_cleanup_free_ uint32_t *codes = NULL;
	if (!stack_rows_init(&rows, moved->count))
		return error_no_memory();
	struct error *error = code_copy_all(model, parent->model, moved->first_module - 1, &codes);
	if (error)
		return error;
	size_t limit = model_stack_limit(parent->model);
	for (uint32_t i = 1, row = 0; i < limit; i++) {
		if (!moved->stacks[i])
			continue;
		struct stack_node node = model_stack(parent->model, (struct stack_id){i});
		uint32_t module = node.module.value;
		rows.parent[row] = moved->stacks[node.parent.value];
		rows.module[row] = (uint16_t)(module ? moved->first_module + module - 1 : 0);
		rows.code[row] = node.code.value ? codes[node.code.value] : 0;
		rows.address[row++] = node.address;
	}
	const struct stack_columns in = stack_rows_columns(&rows);
	return build_stacks(model, (struct stack_id){first}, &in, moved->count);
}

/* What is live at the fork, with its stacks, into the child's model. */
static struct error *put_blocks(const struct parent *parent, struct model *model)
{
	_cleanup_(moved_deinit) struct moved moved = {0};
	struct error *error = number_stacks(parent, model, &moved);
	if (!error)
		error = move_modules(parent, model, &moved);
	if (!error)
		error = move_stacks(parent, model, &moved);
	size_t sites;
	const struct site *site = model_sites(parent->model, &sites);
	/* One more: blocks of sites that are not known. */
	for (size_t i = 0; !error && i <= sites; i++) {
		const struct hpw_tally_site *tally = &parent->replay.sites[i];
		struct stack_id stack = {i < sites ? moved.stacks[site[i].stack.value] : 0};
		enum alloc_kind kind = i < sites ? site[i].kind : KIND_UNKNOWN;
		if (tally->live_blocks)
			error = build_inherited_site(
				model, stack, kind, tally->live_blocks, tally->live_bytes);
	}
	return error;
}

static struct error *put_problem(struct model *model, const char *name, const char *reason)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "Memory inherited from the parent process is %sunknown: ",
		build_inherited(model)->from ? "partly " : "");
	if (!strstr(reason, name))
		text_printf(&text, "%s: ", name);
	text_printf(&text, "%s.", reason);
	if (text.failed)
		return error_no_memory();
	return build_string(model, text.data, text.len, &build_inherited(model)->problem);
}

/* The state of the search for ancestors. */
struct search {
	const char *folder_of; /* the child's own file */
	bool forked;           /* there is one more, of which is known: */
	uint64_t forked_at;
	const char *file; /* in the child's model */
	/* What the ancestors so far had freed, when they forked, of the blocks that they had from
	 * there. */
	uint64_t freed;
	bool failed;
};

/* One generation. */
static struct error *put_parent(struct model *model, struct search *search)
{
	_cleanup_(parent_deinit) struct parent parent = {.input = {.fd = -1}};
	hpw_footer_init(&parent.footer);
	struct inherited *inherited = build_inherited(model);
	struct error *error = hpw_inherited_beside(search->folder_of, search->file, &parent.path);
	if (!error)
		error = parent_read(&parent, search->forked_at);
	if (!error)
		error = put_blocks(&parent, model);
	if (error && error->code != ERROR_INPUT && error->code != ERROR_ENVIRONMENT)
		return error;
	search->failed = error;
	if (error) {
		_cleanup_error_ struct error *taken = error;
		return put_problem(model, search->file, taken->message);
	}
	inherited->blocks += parent.replay.heap.live_blocks;
	inherited->bytes += parent.replay.heap.live_bytes;
	inherited->generations++;
	if (!inherited->from)
		inherited->from = search->file;
	if (search->freed && parent.replay.heap.live_blocks) {
		inherited->at_most = true;
		inherited->freed_blocks = search->freed;
	}
	const struct target *target = model_target(parent.model);
	search->forked = target->forked;
	/* It was forked before it forked: a file that says otherwise leads nowhere. */
	search->forked_at = target->forked_at < search->forked_at ? target->forked_at : 0;
	search->freed += parent.replay.unknown_frees;
	return build_string(model, target->parent_file, strlen(target->parent_file), &search->file);
}

struct error *hpw_inherited_put(struct model *model, const struct input *input)
{
	const struct target *target = model_target(model);
	struct search search = {.folder_of = input->path,
		.forked = target->forked,
		.forked_at = target->forked_at,
		.file = target->parent_file};
	struct error *error = NULL;
	for (unsigned i = 0; !error && search.forked && !search.failed; i++) {
		if (!search.forked_at || !is_base_name(search.file))
			return put_problem(model, "", "the recording does not name the parent's");
		if (input->fd < 0 || i == GENERATIONS_MAX)
			return put_problem(model, "", "no further ancestors are read");
		error = put_parent(model, &search);
	}
	return error;
}
