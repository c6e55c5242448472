/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filling in a search for leaks: see build.h. */
#include <assert.h>
#include <inttypes.h>

#include "model/build.h"
#include "model/model_impl.h"

struct leak_search *build_leak_search(struct model *model)
{
	model->has_leak_search = true;
	model->leak_search = (struct leak_search){.moment = LEAK_AT_EXIT};
	model->leak_rules = (struct leak_search_rules){.offset_limit = 0};
	leak_root_vec_clear(&model->leak_roots);
	leak_group_vec_clear(&model->leak_groups);
	leak_record_vec_clear(&model->leak_records);
	return &model->leak_search;
}

struct leak_search *build_leak_search_more(struct model *model)
{
	assert(model->has_leak_search);
	return &model->leak_search;
}

void build_leak_rules(struct model *model, const struct leak_search_rules *rules)
{
	model->leak_rules = *rules;
}

static struct error *too_many(const char *rows)
{
	return error_create(ERROR_INPUT, "more than %u %s", BUILD_LEAK_ROWS_MAX, rows);
}

struct error *build_leak_root(
	struct model *model, const struct leak_root *row, const char *name, size_t name_len)
{
	size_t number = model->leak_roots.len;
	if (number >= BUILD_LEAK_ROWS_MAX)
		return too_many("roots");
	if ((unsigned)row->place > LEAK_PLACE_IGNORED || row->size > UINT64_MAX - row->start)
		return error_create(ERROR_INPUT, "root %zu is impossible", number);
	if (row->module.value >= model->modules.len)
		return error_create(ERROR_INPUT,
			"root %zu names module %" PRIu32 ", which is not known", number,
			row->module.value);
	struct leak_root copy = *row;
	struct error *error = build_string(model, name, name_len, &copy.name);
	if (error)
		return error;
	return leak_root_vec_push(&model->leak_roots, copy) ? NULL : error_no_memory();
}

/* The way of a group: all that it says of other rows. */
static struct error *check_way(const struct model *model, const struct leak_group *row)
{
	size_t number = model->leak_groups.len;
	if (row->root >= model->leak_roots.len)
		return error_create(ERROR_INPUT,
			"group %zu names root %" PRIu32 ", which is not known", number, row->root);
	if (model->leak_roots.data[row->root].place == LEAK_PLACE_REGISTERS &&
		row->root_address >= LEAK_REGISTERS)
		return error_create(ERROR_INPUT, "group %zu names an unknown register", number);
	if (row->parent == LEAK_NO_GROUP)
		return NULL;
	if (row->parent >= number)
		return error_create(
			ERROR_INPUT, "group %zu has a parent that does not come before it", number);
	if (model->leak_groups.data[row->parent].root != row->root)
		return error_create(
			ERROR_INPUT, "group %zu has another root than its parent", number);
	return NULL;
}

static struct error *check_site(
	const struct model *model, struct site_id site, const char *row, size_t number)
{
	if (site.value < model->sites.len)
		return NULL;
	return error_create(ERROR_INPUT, "%s %zu names site %" PRIu32 ", which is not known", row,
		number, site.value);
}

struct error *build_leak_group(struct model *model, const struct leak_group *row)
{
	if (model->leak_groups.len >= BUILD_LEAK_ROWS_MAX)
		return too_many("groups of blocks");
	struct error *error = check_way(model, row);
	if (!error)
		error = check_site(model, row->site, "group", model->leak_groups.len);
	if (error)
		return error;
	return leak_group_vec_push(&model->leak_groups, *row) ? NULL : error_no_memory();
}

struct error *build_leak_record(struct model *model, const struct leak_record *row)
{
	size_t number = model->leak_records.len;
	if (number >= BUILD_LEAK_ROWS_MAX)
		return too_many("records of leaks");
	if ((unsigned)row->kind >= LEAK_KINDS)
		return error_create(
			ERROR_INPUT, "record %zu has the unknown kind %u", number, row->kind);
	if (row->group != LEAK_NO_GROUP && row->group >= model->leak_groups.len)
		return error_create(ERROR_INPUT,
			"record %zu names group %" PRIu32 ", which is not known", number,
			row->group);
	if (row->example.thread.value != LEAK_NO_THREAD &&
		row->example.thread.value >= model->threads.len)
		return error_create(ERROR_INPUT,
			"record %zu names thread %" PRIu32 ", which is not known", number,
			row->example.thread.value);
	struct error *error = check_site(model, row->site, "record", number);
	if (error)
		return error;
	return leak_record_vec_push(&model->leak_records, *row) ? NULL : error_no_memory();
}

void build_leak_time(struct model *model, size_t record, uint64_t example_ns)
{
	assert(record < model->leak_records.len);
	model->leak_records.data[record].example_ns = example_ns;
}
