/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See merge.h. Numbers of a model are kept, after those of the models before it: modules, stacks
 * and sites need no tables then. Code in no file has no module to tell processes apart, so the
 * model's number is put into the upper bits of its addresses, which no process uses.
 */
#include "sources/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "base/vec.h"
#include "model/build.h"
#include "model/errors.h"
#include "sources/foreign/stack_rows.h"
#include "sources/recording/code_copy.h"

#define MODEL_SHIFT 47u /* above the addresses of programs (x86-64, four levels of tables) */

DEFINE_VEC(size_row_vec, struct size_count)

struct merge {
	struct model *ret;
	unsigned index;                  /* of the model that is being added */
	uint32_t modules, stacks, sites; /* numbers before its own */
	struct size_row_vec sizes;
	bool errors_unknown; /* of one of them */
	bool errors_known;   /* of one of them */
	bool unchecked;      /* one of them is no recording of `heapwise check` */
	struct check_coverage coverage;
};

static struct error *copy_string(struct merge *merge, const char **string)
{
	return build_string(merge->ret, *string, strlen(*string), string);
}

static struct error *copy_target(struct merge *merge, const struct model *from)
{
	const struct target *target = model_target(from);
	struct target *to = build_target(merge->ret);
	to->exe = target->exe;
	to->cwd = target->cwd;
	to->host = target->host;
	to->wall_start_ns = target->wall_start_ns;
	struct error *error = copy_string(merge, &to->exe);
	if (!error)
		error = copy_string(merge, &to->cwd);
	if (!error)
		error = copy_string(merge, &to->host);
	for (size_t i = 0; i < target->command_len && !error; i++)
		error = build_argument(merge->ret, target->command[i], strlen(target->command[i]));
	struct recording *recording = build_recording(merge->ret);
	recording->mode = model_recording(from)->mode;
	recording->what = model_recording(from)->what;
	recording->writer = model_recording(from)->writer;
	recording->complete = true;
	recording->source = model_recording(from)->source;
	recording->call_addresses = model_recording(from)->call_addresses;
	recording->drop_frames = model_recording(from)->drop_frames;
	recording->keep_frames = model_recording(from)->keep_frames;
	if (!error && recording->drop_frames)
		error = copy_string(merge, &recording->drop_frames);
	if (!error && recording->keep_frames)
		error = copy_string(merge, &recording->keep_frames);
	if (!error)
		error = copy_string(merge, &recording->mode);
	return error ? error : copy_string(merge, &recording->writer);
}

static uint64_t own_address(const struct merge *merge, uint64_t address)
{
	return address ^ (uint64_t)merge->index << MODEL_SHIFT;
}

static struct error *add_modules(struct merge *merge, const struct model *from)
{
	size_t limit = model_module_limit(from);
	for (uint32_t id = 1; id < limit; id++) {
		const struct module *module = model_module(from, (struct module_id){id});
		if (!module->path[0])
			continue;
		struct module own = *module;
		own.executable |= strcmp(module->path, model_target(from)->exe) == 0;
		struct error *error = build_module(merge->ret,
			(struct module_id){merge->modules + id}, &own, own.path, strlen(own.path));
		if (error)
			return error;
	}
	return NULL;
}

/* What a foreign file says of the code at addresses of its stacks. */
static struct error *add_given(
	struct merge *merge, const struct model *from, const struct stack_rows *rows)
{
	size_t count = model_stack_limit(from) - 1;
	for (uint32_t i = 0; i < count; i++) {
		struct stack_node node = model_stack(from, (struct stack_id){i + 1});
		const struct embedded_run *run =
			node.code.value ? NULL : model_embedded(from, node);
		struct stack_node own = {.module = {rows->module[i]}, .address = rows->address[i]};
		if (!run || model_embedded(merge->ret, own))
			continue;
		_cleanup_free_ struct embedded_frame *frames = NULL;
		struct error *error = code_copy_run(merge->ret, run, &frames);
		const struct embedded_run copy = {.frames = frames, .count = run->count};
		if (!error)
			error = build_embedded_names(merge->ret, own.module, own.address, &copy);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *merge_add_stacks(struct merge *merge, const struct model *from)
{
	size_t count = model_stack_limit(from) - 1;
	_cleanup_(stack_rows_deinit) struct stack_rows rows;
	_cleanup_free_ uint32_t *codes = NULL;
	if (!stack_rows_init(&rows, count))
		return error_no_memory();
	struct error *error = code_copy_all(merge->ret, from, merge->modules, &codes);
	if (error)
		return error;
	for (uint32_t i = 0; i < count; i++) {
		struct stack_node node = model_stack(from, (struct stack_id){i + 1});
		bool has_address = node.kind == FRAME_NATIVE ||
				   (node.kind == FRAME_NAME && node.address >= STACK_MARKS);
		rows.parent[i] = node.parent.value ? merge->stacks + node.parent.value : 0;
		rows.address[i] = node.address;
		rows.code[i] = node.code.value ? codes[node.code.value] : 0;
		if (node.module.value)
			rows.module[i] = (uint16_t)(merge->modules + node.module.value);
		else if (has_address)
			rows.address[i] = own_address(merge, node.address);
	}
	struct stack_columns columns = stack_rows_columns(&rows);
	error = build_stacks(merge->ret, (struct stack_id){merge->stacks + 1}, &columns, count);
	return error ? error : add_given(merge, from, &rows);
}

static struct error *merge_add_sites(struct merge *merge, const struct model *from)
{
	size_t count;
	const struct site *sites = model_sites(from, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct site_id id = {merge->sites + i};
		uint32_t stack = sites[i].stack.value;
		struct stack_id own = {stack ? merge->stacks + stack : 0};
		struct error *error = build_site(merge->ret, id, own, sites[i].kind);
		if (error)
			return error;
		struct site *site = build_site_at(merge->ret, id);
		*site = sites[i];
		site->stack = own;
	}
	return NULL;
}

static struct error *add_threads(struct merge *merge, const struct model *from)
{
	size_t count;
	const struct thread *threads = model_threads(from, &count);
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++)
		error = build_thread(
			merge->ret, &threads[i], threads[i].name, strlen(threads[i].name));
	return error;
}

static struct error *add_unrecorded(struct merge *merge, const struct model *from)
{
	size_t count;
	const struct unrecorded_program *programs = model_unrecorded(from, &count);
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++)
		error = build_unrecorded(
			merge->ret, &programs[i], programs[i].path, strlen(programs[i].path));
	return error;
}

static struct error *add_small(struct merge *merge, const struct model *from)
{
	size_t count;
	const struct small_process *rows = model_small(from, &count);
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++)
		error = build_small(merge->ret, &rows[i], rows[i].command, strlen(rows[i].command));
	if (!error || error->code != ERROR_INPUT)
		return error;
	struct error *full = build_damage(merge->ret, error->message);
	error_destroy(error);
	return full;
}

static struct error *merge_add_damage(struct merge *merge, const struct model *from)
{
	const struct recording *recording = model_recording(from);
	build_recording(merge->ret)->complete &= recording->complete;
	size_t count;
	const char *const *sentences = model_damage(from, &count);
	for (size_t i = 0; i < count; i++) {
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		text_printf(&text, "%s: %s", recording->path, sentences[i]);
		struct error *error =
			text.failed ? error_no_memory() : build_damage(merge->ret, text.data);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *merge_add_error(
	struct merge *merge, const struct program_error *row, const struct error_stack *stacks)
{
	_cleanup_free_ struct error_stack *own = calloc(row->stack_count + 1, sizeof(*own));
	if (!own)
		return error_no_memory();
	for (size_t i = 0; i < row->stack_count; i++) {
		own[i] = stacks[row->first_stack + i];
		own[i].stack += own[i].stack ? merge->stacks : 0;
	}
	return build_program_error(merge->ret, row, own, row->stack_count);
}

/* Errors of a model that does not know whether it has some are unknown, not none. */
static struct error *merge_add_errors(struct merge *merge, const struct model *from)
{
	size_t count, stack_count, suppressed;
	const struct program_error *errors = model_errors(from, &count);
	const struct error_stack *stacks = model_error_stacks(from, &stack_count);
	const struct error_suppression *suppressions = model_error_suppressions(from, &suppressed);
	struct error *error = NULL;
	merge->errors_unknown |= !errors;
	merge->errors_known |= errors != NULL;
	for (size_t i = 0; i < count && !error; i++)
		error = merge_add_error(merge, &errors[i], stacks);
	for (size_t i = 0; i < suppressed && !error; i++)
		error = model_errors_suppressed(merge->ret, &suppressions[i]);
	return error;
}

/* Whether the process went on as a program that was not recorded. */
static bool left_recording(const struct model *model)
{
	size_t count;
	const struct unrecorded_program *programs = model_unrecorded(model, &count);
	for (size_t i = 0; i < count; i++)
		if (programs[i].pid && programs[i].pid == model_target(model)->pid)
			return true;
	return false;
}

/* What was looked at is known of a sum if it is of each part. */
static struct error *merge_add_coverage(struct merge *merge, const struct model *from)
{
	const struct check_coverage *coverage = model_check_coverage(from);
	merge->unchecked |= !coverage;
	if (!coverage)
		return NULL;
	check_coverage_add(&merge->coverage, coverage);
	if (coverage->is_there)
		merge->coverage.unserved += left_recording(from);
	return NULL;
}

static struct error *add_sizes(struct merge *merge, const struct model *from)
{
	size_t count;
	const struct size_count *sizes = model_sizes(from, &count);
	for (size_t i = 0; i < count; i++)
		if (!size_row_vec_push(&merge->sizes, sizes[i]))
			return error_no_memory();
	return NULL;
}

static void add_totals(struct merge *merge, const struct model *from)
{
	const struct totals *more = model_totals(from);
	struct totals *sums = build_totals(merge->ret);
	sums->allocations += more->allocations;
	sums->allocated_bytes += more->allocated_bytes;
	sums->frees += more->frees;
	sums->failed += more->failed;
	sums->live_blocks += more->live_blocks;
	sums->live_bytes += more->live_bytes;
	sums->kept_blocks += more->kept_blocks;
	sums->kept_bytes += more->kept_bytes;
	sums->temporary += more->temporary;
	sums->peak_bytes += more->peak_bytes;
	sums->peak_blocks += more->peak_blocks;
	sums->threads += more->threads;
	spread_add(&sums->spread, &more->spread);
}

static void add_recording(struct merge *merge, const struct model *from)
{
	const struct recording *more = model_recording(from);
	struct recording *sums = build_recording(merge->ret);
	sums->unknown |= more->unknown;
	sums->only_errors |= more->only_errors;
	sums->no_heap |= more->no_heap;
	sums->snapshot |= more->snapshot;
	sums->mode_changes = max(sums->mode_changes, more->mode_changes);
	sums->change_missed += more->change_missed;
	sums->changed_at_end |= more->changed_at_end;
	sums->attached_ns = max(sums->attached_ns, more->attached_ns);
	sums->watched |= more->watched;
	sums->attached_later += more->attached_later;
	sums->attached_kept += more->attached_kept;
	sums->remark = NULL; /* each has its own */
	sums->detached |= more->detached;
	/* A reason why they are not known counts for all. */
	sums->older = max(sums->older, more->older);
	sums->older_blocks += more->older_blocks;
	sums->older_bytes += more->older_bytes;
	sums->older_threads += more->older_threads;
	sums->older_damaged += more->older_damaged;
	sums->whole_stacks |= more->whole_stacks;
	sums->call_addresses &= more->call_addresses;
	sums->sample_bytes = max(sums->sample_bytes, more->sample_bytes);
	sums->biased_samples |= more->biased_samples;
	sums->duration_ns = max(sums->duration_ns, more->duration_ns);
	sums->longest_wait_ns = max(sums->longest_wait_ns, more->longest_wait_ns);
	sums->dropped_steps += more->dropped_steps;
	sums->kept_steps += more->kept_steps;
	sums->events += more->events;
	sums->lost_events += more->lost_events;
	for (unsigned why = 0; why < LOST_REASONS; why++)
		sums->lost[why] += more->lost[why];
	sums->repairs += more->repairs;
	sums->unknown_frees += more->unknown_frees;
	sums->inherited_frees += more->inherited_frees;
	sums->mismatched_frees += more->mismatched_frees;
	sums->stacks_full += more->stacks_full;
	sums->children_unrecorded += more->children_unrecorded;
	sums->wait_ns += more->wait_ns;
	sums->waits += more->waits;
	sums->waits_unknown |= more->waits_unknown;
	sums->own_malloc |= more->own_malloc;
	sums->malloc_in_front |= more->malloc_in_front;
	sums->sandboxed |= more->sandboxed;
	sums->loaded_apart |= more->loaded_apart;
	sums->not_attached |= more->not_attached;
}

static struct error *add_model(struct merge *merge, const struct model *from)
{
	if (model_recording(from)->what != model_recording(merge->ret)->what)
		return error_create(ERROR_INPUT,
			"%s: what a program mapped can't be added to a heap of another recording",
			model_recording(from)->path);
	static struct error *(*const parts[])(struct merge *, const struct model *) = {add_modules,
		merge_add_stacks, merge_add_sites, add_threads, add_unrecorded, add_small,
		merge_add_damage, add_sizes, merge_add_errors, merge_add_coverage};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct error *error = parts[i](merge, from);
		if (error)
			return error_prefix(error, "cannot add %s to the recordings before it",
				model_recording(from)->path);
	}
	add_totals(merge, from);
	add_recording(merge, from);
	merge->modules += (uint32_t)model_module_limit(from) - 1;
	merge->stacks += (uint32_t)model_stack_limit(from) - 1;
	size_t sites;
	model_sites(from, &sites);
	merge->sites += (uint32_t)sites;
	merge->index++;
	return NULL;
}

static int merge_compare_sizes(const void *left, const void *right)
{
	const struct size_count *a = left, *b = right;
	return a->size < b->size ? -1 : a->size > b->size;
}

static struct error *finish_sizes(struct merge *merge)
{
	struct size_row_vec *sizes = &merge->sizes;
	if (sizes->len)
		qsort(sizes->data, sizes->len, sizeof(*sizes->data), merge_compare_sizes);
	for (size_t i = 0; i < sizes->len;) {
		struct size_count sum = {.size = sizes->data[i].size};
		for (; i < sizes->len && sizes->data[i].size == sum.size; i++)
			sum.allocations += sizes->data[i].allocations;
		struct error *error = build_size(merge->ret, sum.size, sum.allocations);
		if (error)
			return error;
	}
	return NULL;
}

/* "a.hpw, b.hpw" */
static struct error *finish_path(
	struct merge *merge, const struct model *const *models, size_t count)
{
	_cleanup_(text_deinit) struct text paths;
	text_init(&paths);
	for (size_t i = 0; i < count; i++)
		text_printf(&paths, "%s%s", i ? ", " : "", model_recording(models[i])->path);
	struct recording *recording = build_recording(merge->ret);
	recording->merged = count;
	return paths.failed ? error_no_memory()
			    : build_string(merge->ret, paths.data, paths.len, &recording->path);
}

/* Of recordings with errors alone, figures of others would be lost, and theirs taken for none. */
static struct error *refuse_mixture(const struct model *const *models, size_t count)
{
	const struct model *errors = NULL, *other = NULL;
	for (size_t i = 0; i < count; i++) {
		if (model_recording(models[i])->only_errors)
			errors = models[i];
		else
			other = models[i];
	}
	if (!errors || !other)
		return NULL;
	return error_create(ERROR_INPUT,
		"%s contains errors only (heapwise check), %s a heap: they can't be added up",
		model_recording(errors)->path, model_recording(other)->path);
}

/* What errors there are is unknown if it is of one; of those of `heapwise check` coverage says it.
 */
static void finish_errors(const struct merge *merge)
{
	if (!merge->unchecked)
		build_check_coverage(merge->ret, &merge->coverage);
	if (merge->unchecked ? !merge->errors_unknown : merge->errors_known)
		build_errors(merge->ret);
}

static void merge_deinit(struct merge *merge)
{
	model_destroy(merge->ret);
	size_row_vec_deinit(&merge->sizes);
}

struct error *merge_models(const struct model *const *models, size_t count, struct model **ret)
{
	_cleanup_(merge_deinit) struct merge merge = {.ret = NULL};
	struct error *error = refuse_mixture(models, count);
	if (!error)
		error = build_create(&merge.ret);
	if (!error)
		error = copy_target(&merge, models[0]);
	for (size_t i = 0; i < count && !error; i++)
		error = add_model(&merge, models[i]);
	if (!error)
		error = finish_sizes(&merge);
	if (!error)
		error = finish_path(&merge, models, count);
	if (error)
		return error;
	finish_errors(&merge);
	build_finish(merge.ret);
	*ret = steal_ptr(merge.ret);
	return NULL;
}

struct error *merge_code(struct model *into, const struct model *from)
{
	static struct error *(*const parts[])(struct merge *, const struct model *) = {
		add_modules, merge_add_stacks, merge_add_sites, add_threads};
	size_t sites;
	model_sites(into, &sites);
	struct merge merge = {.ret = into,
		.modules = (uint32_t)model_module_limit(into) - 1,
		.stacks = (uint32_t)model_stack_limit(into) - 1,
		.sites = (uint32_t)sites};
	struct error *error = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(parts) && !error; i++)
		error = parts[i](&merge, from);
	return error;
}
