/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filling a model: see build.h. All checks of outside numbers are before the first change. */
#include "model/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "model/model_impl.h"

/* How far stack ids may run ahead of the rows that were given. */
#define GAP_FIXED (1u << 20)
#define GAP_FACTOR 16u

static bool stack_table_grow(struct stack_table *table, size_t want)
{
	void *links = table->links;
	if (want <= table->cap)
		return true;
	bool grown = vec_grow(&links, &table->cap, want, sizeof(*table->links));
	table->links = links;
	return grown;
}

/* Makes rows up to `len` exist, new ones unused. */
static bool stack_table_extend(struct stack_table *table, size_t len)
{
	if (len <= table->len)
		return true;
	if (!stack_table_grow(table, len))
		return false;
	memset(table->links + table->len, 0, (len - table->len) * sizeof(*table->links));
	table->len = len;
	return true;
}

static inline size_t frame_home(const struct stack_table *table, const struct stack_frame *frame)
{
	uint64_t other = (uint64_t)frame->code << 32 | frame->module;
	return hash_u64(frame->address ^ other * 0x9e3779b97f4a7c15u) & (table->slots_cap - 1);
}

static inline bool frame_is(const struct stack_frame *a, const struct stack_frame *b)
{
	return a->address == b->address && a->module == b->module && a->code == b->code;
}

/* Makes the hash table anew, of twice the size that all frames need. */
static bool stack_table_hash(struct stack_table *table)
{
	size_t cap = 1024;
	while (cap < 2 * (table->frames.len + 1))
		cap *= 2;
	uint32_t *slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return false;
	free(table->slots);
	table->slots = slots;
	table->slots_cap = cap;
	for (uint32_t i = 1; i < table->frames.len; i++) {
		size_t at = frame_home(table, &table->frames.data[i]);
		while (slots[at])
			at = (at + 1) & (cap - 1);
		slots[at] = i;
	}
	return true;
}

/* Sets *ret to the number of a frame, which it gets if it is new. */
static bool stack_table_number(
	struct stack_table *table, const struct stack_frame *frame, uint32_t *ret)
{
	*ret = 0;
	if (!frame->address && !frame->code && !frame->module)
		return true;
	if (2 * (table->frames.len + 1) > table->slots_cap && !stack_table_hash(table))
		return false;
	size_t at = frame_home(table, frame);
	for (; table->slots[at]; at = (at + 1) & (table->slots_cap - 1)) {
		*ret = table->slots[at];
		if (frame_is(&table->frames.data[*ret], frame))
			return true;
	}
	*ret = table->slots[at] = (uint32_t)table->frames.len;
	return stack_frame_vec_push(&table->frames, *frame);
}

struct error *build_create(struct model **ret)
{
	_cleanup_(model_cleanup) struct model *model = calloc(1, sizeof(*model));
	if (!model)
		return error_no_memory();
	arena_init(&model->strings);
	string_vec_init(&model->argv);
	string_vec_init(&model->damage);
	module_vec_init(&model->modules);
	site_vec_init(&model->sites);
	thread_vec_init(&model->threads);
	size_vec_init(&model->sizes);
	live_vec_init(&model->live);
	model->target.exe = model->target.cwd = model->target.host = "";
	model->target.parent_file = "";
	model->recording.path = model->recording.writer = "";
	model->recording.mode = "exact";
	model->recording.source = "recording";
	if (!string_vec_push(&model->argv, NULL) ||
		!module_vec_push(&model->modules, (struct module){.path = ""}) ||
		!stack_frame_vec_push(&model->stacks.frames, (struct stack_frame){0}) ||
		!stack_table_extend(&model->stacks, 1))
		return error_no_memory();
	model->target.command = model->argv.data;
	*ret = steal_ptr(model);
	return NULL;
}

struct error *build_string(struct model *model, const char *bytes, size_t len, const char **ret)
{
	const char *copy = arena_strndup(&model->strings, bytes, len);
	if (!copy)
		return error_no_memory();
	*ret = copy;
	return NULL;
}

struct target *build_target(struct model *model)
{
	return &model->target;
}

struct recording *build_recording(struct model *model)
{
	return &model->recording;
}

struct totals *build_totals(struct model *model)
{
	return &model->totals;
}

struct error *build_argument(struct model *model, const char *bytes, size_t len)
{
	const char *copy = NULL;
	struct error *error = build_string(model, bytes, len, &copy);
	if (error)
		return error;
	if (!string_vec_push(&model->argv, NULL))
		return error_no_memory();
	model->argv.data[model->argv.len - 2] = copy;
	model->target.command = model->argv.data;
	model->target.command_len = model->argv.len - 1;
	return NULL;
}

struct error *build_damage(struct model *model, const char *sentence)
{
	model->recording.complete = false;
	const char *copy = NULL;
	struct error *error = build_string(model, sentence, strlen(sentence), &copy);
	if (error)
		return error;
	return string_vec_push(&model->damage, copy) ? NULL : error_no_memory();
}

struct error *build_module(struct model *model, struct module_id id, const struct module *module,
	const char *path, size_t path_len)
{
	if (id.value == 0 || id.value >= BUILD_MODULES_MAX)
		return error_create(
			ERROR_INPUT, "module number %" PRIu32 " is out of range", id.value);
	if (module->end < module->start)
		return error_create(
			ERROR_INPUT, "module %" PRIu32 " ends before it starts", id.value);
	struct module copy = *module;
	struct error *error = build_string(model, path, path_len, &copy.path);
	if (error)
		return error;
	copy.build_id = NULL;
	if (module->build_id_len) {
		uint8_t *bytes = arena_alloc(&model->strings, module->build_id_len);
		if (!bytes)
			return error_no_memory();
		memcpy(bytes, module->build_id, module->build_id_len);
		copy.build_id = bytes;
	}
	while (model->modules.len <= id.value)
		if (!module_vec_push(&model->modules, (struct module){.path = ""}))
			return error_no_memory();
	model->modules.data[id.value] = copy;
	return NULL;
}

/* Whether the ids may be given at all. */
static struct error *check_stack_ids(const struct model *model, struct stack_id first, size_t count)
{
	if (first.value >= BUILD_STACKS_MAX || count > BUILD_STACKS_MAX - first.value)
		return error_create(ERROR_INPUT, "stack number %" PRIu32 " and %zu more: too many",
			first.value, count);
	if (first.value + count > GAP_FIXED + GAP_FACTOR * (model->stacks.rows + count))
		return error_create(ERROR_INPUT,
			"stack numbers jump to %" PRIu32 " after %zu stacks", first.value,
			model->stacks.rows);
	return NULL;
}

static struct error *check_stack_rows(const struct model *model, struct stack_id first,
	const struct stack_columns *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t id = first.value + (uint32_t)i;
		if (rows->parent[i] > id || (id == 0 && rows->parent[i] != 0))
			return error_create(ERROR_INPUT,
				"stack %" PRIu32 " has a parent with a larger number", id);
		if (rows->module[i] >= model->modules.len)
			return error_create(ERROR_INPUT,
				"stack %" PRIu32 " names module %" PRIu32 ", which is not known",
				id, (uint32_t)rows->module[i]);
		if (rows->code && rows->code[i] && rows->code[i] >= model->code.len)
			return error_create(ERROR_INPUT,
				"stack %" PRIu32 " names code %" PRIu32 ", which is not known", id,
				rows->code[i]);
	}
	return NULL;
}

/* Sets rows that exist and were checked. */
static struct error *set_stack_rows(struct stack_table *table, struct stack_id first,
	const struct stack_columns *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t id = first.value + (uint32_t)i;
		if (rows->parent[i] == id)
			continue;
		const struct stack_frame frame = {.address = rows->address[i],
			.code = rows->code ? rows->code[i] : 0,
			.module = rows->module[i]};
		table->links[id].parent = rows->parent[i];
		if (!stack_table_number(table, &frame, &table->links[id].frame))
			return error_no_memory();
	}
	return NULL;
}

struct error *build_stacks(
	struct model *model, struct stack_id first, const struct stack_columns *rows, size_t count)
{
	struct error *error = check_stack_ids(model, first, count);
	if (!error)
		error = check_stack_rows(model, first, rows, count);
	if (error)
		return error;
	struct stack_table *table = &model->stacks;
	if (!stack_table_extend(table, first.value + count))
		return error_no_memory();
	error = set_stack_rows(table, first, rows, count);
	if (!error)
		table->rows += count;
	return error;
}

void build_expect_stacks(struct model *model, uint64_t count)
{
	/* Where there is no room for a guess, there may be for what comes. */
	if (!model->stacks.rows &&
		!stack_table_grow(&model->stacks, (size_t)min(count, (uint64_t)BUILD_STACKS_MAX)))
		return;
}

static struct error *take_fed(
	struct model *model, struct stack_id first, size_t count, const struct stack_feed *feed)
{
	struct error *error = NULL;
	for (size_t done = 0, some; !error && done < count; done += some) {
		struct stack_columns rows;
		struct stack_id id = {first.value + (uint32_t)done};
		some = min(count - done, (size_t)BUILD_STACK_BATCH);
		error = feed->next(feed->context, some, &rows);
		if (!error)
			error = check_stack_rows(model, id, &rows, some);
		if (!error)
			error = set_stack_rows(&model->stacks, id, &rows, some);
	}
	return error;
}

struct error *build_stacks_fed(
	struct model *model, struct stack_id first, size_t count, const struct stack_feed *feed)
{
	struct stack_table *table = &model->stacks;
	size_t before = table->len;
	struct error *error = check_stack_ids(model, first, count);
	if (error)
		return error;
	if (!stack_table_extend(table, first.value + count))
		return error_no_memory();
	error = take_fed(model, first, count, feed);
	if (!error)
		table->rows += count;
	else if (first.value >= before)
		table->len = before;
	return error;
}

struct error *build_site(
	struct model *model, struct site_id id, struct stack_id stack, enum alloc_kind kind)
{
	if (id.value >= BUILD_SITES_MAX)
		return error_create(
			ERROR_INPUT, "site number %" PRIu32 " is out of range", id.value);
	if (stack.value >= model->stacks.len)
		return error_create(ERROR_INPUT,
			"site %" PRIu32 " names stack %" PRIu32 ", which is not known", id.value,
			stack.value);
	if ((unsigned)kind >= ALLOC_KINDS)
		return error_create(ERROR_INPUT, "site %" PRIu32 " has the unknown kind %u",
			id.value, (unsigned)kind);
	while (model->sites.len <= id.value)
		if (!site_vec_push(&model->sites, (struct site){.kind = KIND_UNKNOWN}))
			return error_no_memory();
	model->sites.data[id.value].stack = stack;
	model->sites.data[id.value].kind = kind;
	return NULL;
}

struct site *build_site_at(struct model *model, struct site_id id)
{
	return id.value < model->sites.len ? &model->sites.data[id.value] : NULL;
}

struct error *build_thread(
	struct model *model, const struct thread *row, const char *name, size_t name_len)
{
	if (model->threads.len >= BUILD_THREADS_MAX)
		return error_create(ERROR_INPUT, "more than %u threads", BUILD_THREADS_MAX);
	struct thread copy = *row;
	struct error *error = build_string(model, name, name_len, &copy.name);
	if (error)
		return error;
	return thread_vec_push(&model->threads, copy) ? NULL : error_no_memory();
}

struct thread *build_thread_at(struct model *model, size_t index)
{
	return index < model->threads.len ? &model->threads.data[index] : NULL;
}

struct error *build_size(struct model *model, uint64_t size, uint64_t allocations)
{
	const struct size_vec *sizes = &model->sizes;
	if (sizes->len && sizes->data[sizes->len - 1].size >= size)
		return error_create(ERROR_INPUT, "sizes do not ascend at %" PRIu64, size);
	struct size_count row = {.size = size, .allocations = allocations};
	return size_vec_push(&model->sizes, row) ? NULL : error_no_memory();
}

struct error *build_more_sizes(struct model *model, const struct size_count *rows, size_t count)
{
	struct size_vec there = model->sizes;
	size_t i = 0, k = 0;
	struct error *error = NULL;
	size_vec_init(&model->sizes);
	while (!error && (i < there.len || k < count)) {
		bool old = i < there.len && (k == count || there.data[i].size <= rows[k].size);
		bool new = k < count && (!old || there.data[i].size == rows[k].size);
		uint64_t allocations =
			(old ? there.data[i].allocations : 0) + (new ? rows[k].allocations : 0);
		error = build_size(model, old ? there.data[i].size : rows[k].size, allocations);
		i += old;
		k += new;
	}
	size_vec_deinit(&there);
	return error;
}

static struct error *check_code(const struct model *model, const struct code *row)
{
	if (model->code.len > BUILD_CODE_MAX)
		return error_create(ERROR_INPUT, "more than %u rows of code", BUILD_CODE_MAX);
	if (row->kind != FRAME_CODE_OBJECT && row->kind != FRAME_METHOD && row->kind != FRAME_NAME)
		return error_create(
			ERROR_INPUT, "code has the unknown kind %u", (unsigned)row->kind);
	if (row->home.value >= model->modules.len)
		return error_create(ERROR_INPUT,
			"code is of module %" PRIu32 ", which is not known", row->home.value);
	for (size_t i = 1; i < row->line_count; i++)
		if (row->lines[i - 1].instruction >= row->lines[i].instruction)
			return error_create(ERROR_INPUT,
				"lines of code do not ascend at instruction %" PRIu32,
				row->lines[i].instruction);
	return NULL;
}

/* NULL also of nothing. */
static struct error *copy_array(
	struct model *model, const void *from, size_t bytes, const void **ret)
{
	*ret = NULL;
	if (!bytes)
		return NULL;
	void *copy = arena_alloc(&model->strings, bytes);
	if (!copy)
		return error_no_memory();
	memcpy(copy, from, bytes);
	*ret = copy;
	return NULL;
}

struct error *build_code(struct model *model, const struct code *row, struct code_id *ret)
{
	struct code copy = *row;
	const void *lines, *frames;
	struct error *error = check_code(model, row);
	if (!error)
		error = copy_array(
			model, row->lines, row->line_count * sizeof(*row->lines), &lines);
	if (!error)
		error = copy_array(
			model, row->run.frames, row->run.count * sizeof(*row->run.frames), &frames);
	if (error)
		return error;
	copy.lines = lines;
	copy.run.frames = frames;
	if (!model->code.len && !code_vec_push(&model->code, (struct code){.kind = FRAME_NAME}))
		return error_no_memory();
	if (ret)
		ret->value = (uint32_t)model->code.len;
	return code_vec_push(&model->code, copy) ? NULL : error_no_memory();
}

struct error *build_traced_line(struct model *model, const struct traced_line *row)
{
	if (row->code.value >= model_code_limit(model))
		return error_create(ERROR_INPUT, "a traced line of code that is not there");
	return traced_vec_push(&model->traced, *row) ? NULL : error_no_memory();
}

struct error *build_code_name(
	struct model *model, uint64_t address, const char *name, size_t name_len)
{
	const struct named_vec *named = &model->named;
	uint64_t before = named->len ? named->data[named->len - 1].address : 0;
	if (before >= address)
		return error_create(
			ERROR_INPUT, "names of code do not ascend at 0x%" PRIx64, address);
	struct code row = {.kind = FRAME_NAME};
	struct named_address at = {.address = address};
	struct error *error = build_string(model, name, name_len, &row.name);
	if (!error)
		error = build_code(model, &row, &at.code);
	if (error)
		return error;
	return named_vec_push(&model->named, at) ? NULL : error_no_memory();
}

static int compare_named(const void *key, const void *row)
{
	uint64_t address = *(const uint64_t *)key;
	uint64_t other = ((const struct named_address *)row)->address;
	return address < other ? -1 : address > other;
}

/* Frames in no module whose addresses have names become names. */
static void name_frames(struct model *model)
{
	struct stack_table *table = &model->stacks;
	for (size_t i = 0; model->named.len && i < table->frames.len; i++) {
		struct stack_frame *frame = &table->frames.data[i];
		if (frame->module || frame->code || frame->address < STACK_MARKS)
			continue;
		const struct named_address *named = bsearch(&frame->address, model->named.data,
			model->named.len, sizeof(*named), compare_named);
		if (named)
			frame->code = named->code.value;
	}
	named_vec_deinit(&model->named);
}

struct error *build_embedded_names(struct model *model, struct module_id module, uint64_t address,
	const struct embedded_run *run)
{
	if (module.value >= model->modules.len || run->count == 0)
		return error_create(ERROR_INPUT, "code of module %" PRIu32 ", which is not known",
			module.value);
	struct embedded_run copy = *run;
	struct embedded_frame *frames =
		arena_alloc(&model->strings, run->count * sizeof(*run->frames));
	if (!frames)
		return error_no_memory();
	memcpy(frames, run->frames, run->count * sizeof(*run->frames));
	copy.frames = frames;
	bool is_new;
	struct code_place place = {.module = module.value, .address = address};
	uint32_t *number = given_map_insert(&model->given_of, place, &is_new);
	if (!number)
		return error_no_memory();
	if (!is_new)
		return error_create(ERROR_INPUT,
			"code at 0x%" PRIx64 " of module %" PRIu32 " is given twice", address,
			module.value);
	*number = (uint32_t)model->given.len;
	return given_vec_push(&model->given, copy) ? NULL : error_no_memory();
}

struct error *build_small(struct model *model, const struct small_process *row, const char *command,
	size_t command_len)
{
	static const char *const none[] = {NULL};
	uint64_t bytes = model->small_bytes + sizeof(*row) + command_len + 1;
	if (bytes > BUILD_SMALL_BYTES_MAX)
		return error_create(ERROR_INPUT,
			"rows of more than %zu processes need too much memory", model->small.len);
	struct small_process copy = *row;
	copy.target.command = none;
	copy.target.command_len = 0;
	copy.target.exe = copy.target.cwd = copy.target.host = copy.target.parent_file = "";
	struct error *error = build_string(model, command, command_len, &copy.command);
	if (error)
		return error;
	model->small_bytes = bytes;
	return small_process_vec_push(&model->small, copy) ? NULL : error_no_memory();
}

struct error *build_unrecorded(struct model *model, const struct unrecorded_program *row,
	const char *path, size_t path_len)
{
	if (model->unrecorded.len >= BUILD_UNRECORDED_MAX)
		return error_create(
			ERROR_INPUT, "more than %u programs went unrecorded", BUILD_UNRECORDED_MAX);
	struct unrecorded_program copy = *row;
	struct error *error = build_string(model, path, path_len, &copy.path);
	if (error)
		return error;
	if (!unrecorded_vec_push(&model->unrecorded, copy))
		return error_no_memory();
	if (model->recording.children_unrecorded < model->unrecorded.len)
		model->recording.children_unrecorded = model->unrecorded.len;
	return NULL;
}

struct error *build_live(struct model *model, const struct live_block *rows, size_t count)
{
	const struct live_vec *live = &model->live;
	uint64_t floor = live->len ? live->data[live->len - 1].address : 0;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].address < floor)
			return error_create(ERROR_INPUT, "live blocks do not ascend at 0x%" PRIx64,
				rows[i].address);
		if (rows[i].site.value >= model->sites.len ||
			rows[i].thread.value >= model->threads.len)
			return error_create(ERROR_INPUT,
				"the live block at 0x%" PRIx64
				" names a site or thread that is not known",
				rows[i].address);
		floor = rows[i].address;
	}
	for (size_t i = 0; i < count; i++)
		if (!live_vec_push(&model->live, rows[i]))
			return error_no_memory();
	model->has_live = true;
	return NULL;
}

struct error *build_series_row(struct model *model, const struct series_row *row,
	const struct series_site *sites, size_t count)
{
	const struct series_row_vec *series = &model->series;
	if (series->len && row->step < series->data[series->len - 1].step)
		return error_create(ERROR_INPUT, "moments do not ascend");
	struct series_row copy = *row;
	/* Clocks of damaged files go back; code that draws rows relies on their order. */
	if (series->len)
		copy.time_ns = max(copy.time_ns, series->data[series->len - 1].time_ns);
	copy.first_site = model->series_sites.len;
	copy.site_count = count;
	for (size_t i = 0; i < count; i++) {
		if (sites[i].site.value >= model->sites.len ||
			(i && sites[i].site.value <= sites[i - 1].site.value))
			return error_create(
				ERROR_INPUT, "sites of a moment do not ascend, or are not known");
		if (!series_site_vec_push(&model->series_sites, sites[i]))
			return error_no_memory();
	}
	return series_row_vec_push(&model->series, copy) ? NULL : error_no_memory();
}

struct error *build_mark(struct model *model, const struct mark *row, const char *name, size_t len)
{
	const struct mark_vec *marks = &model->marks;
	if (marks->len && row->step < marks->data[marks->len - 1].step)
		return error_create(ERROR_INPUT, "marks do not ascend");
	struct mark copy = *row;
	struct error *error = build_string(model, name, len, &copy.name);
	if (error)
		return error;
	return mark_vec_push(&model->marks, copy) ? NULL : error_no_memory();
}

struct lifetimes *build_lifetimes(struct model *model)
{
	return &model->lifetimes;
}

struct error *build_realloc_site(struct model *model, const struct realloc_site *row)
{
	const struct realloc_vec *rows = &model->reallocs;
	if (row->site >= model->sites.len ||
		(rows->len && row->site <= rows->data[rows->len - 1].site))
		return error_create(
			ERROR_INPUT, "sites of reallocs do not ascend, or are not known");
	return realloc_vec_push(&model->reallocs, *row) ? NULL : error_no_memory();
}

/* realloc to a smaller size may only fail by keeping the block as it is. */
static void *build_trimmed(void *data, size_t bytes)
{
	void *less = realloc(data, bytes);
	return less ? less : data;
}

void build_subtracted(struct model *model, struct model *subtracted)
{
	model->subtracted = subtracted;
}

void build_finish(struct model *model)
{
	struct stack_table *table = &model->stacks;
	table->links = build_trimmed(table->links, table->len * sizeof(*table->links));
	free(table->slots);
	table->slots = NULL;
	table->slots_cap = 0;
	name_frames(model);
	table->cap = table->len;
}

struct inherited *build_inherited(struct model *model)
{
	return &model->inherited;
}

struct error *build_inherited_site(struct model *model, struct stack_id stack, enum alloc_kind kind,
	uint64_t blocks, uint64_t bytes)
{
	if (stack.value >= model->stacks.len)
		return error_create(ERROR_INPUT, "stack %" PRIu32 " is not known", stack.value);
	if (model->inherited_sites.len >= BUILD_SITES_MAX)
		return error_create(ERROR_INPUT, "inherited blocks are of too many places");
	struct site row = {
		.stack = stack, .kind = kind, .live_blocks = blocks, .live_bytes = bytes};
	return site_vec_push(&model->inherited_sites, row) ? NULL : error_no_memory();
}
