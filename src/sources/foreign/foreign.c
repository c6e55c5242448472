/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/foreign.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/util.h"

/* Addresses of programs are smaller; above are the bits that sums of models use (merge.c). */
#define ADDRESSES_END (UINT64_C(1) << 57)
/* No compiler inlines deeper, and no reader would follow. */
#define LINES_MAX 1024u

#define ALL_UNKNOWN                                                                                \
	(UNKNOWN_ALLOCATIONS | UNKNOWN_ALLOCATED_BYTES | UNKNOWN_LIVE_BLOCKS |                     \
		UNKNOWN_LIVE_BYTES | UNKNOWN_PEAK_BLOCKS | UNKNOWN_PEAK_BYTES |                    \
		UNKNOWN_TEMPORARY | UNKNOWN_FAILED | UNKNOWN_FREES | UNKNOWN_THREADS |             \
		UNKNOWN_SIZES | UNKNOWN_TIMES | UNKNOWN_SERIES | UNKNOWN_LIVES |                   \
		UNKNOWN_EXTREMES | UNKNOWN_SERIES_SITES)

struct error *foreign_create(struct foreign *foreign, const char *source, const struct input *input)
{
	*foreign = (struct foreign){.root = input->root};
	strings_init(&foreign->names);
	foreign_code_vec_init(&foreign->frames);
	struct error *error = build_create(&foreign->model);
	if (error)
		return error;
	struct recording *recording = build_recording(foreign->model);
	recording->source = source;
	recording->mode = "";
	recording->complete = true;
	recording->unknown = ALL_UNKNOWN;
	return build_string(foreign->model, input->name, strlen(input->name), &recording->path);
}

void foreign_deinit(struct foreign *foreign)
{
	model_destroy(foreign->model);
	strings_deinit(&foreign->names);
	foreign_code_vec_deinit(&foreign->frames);
	foreign_places_deinit(&foreign->by_place);
	foreign_keys_deinit(&foreign->by_lines);
	foreign_children_deinit(&foreign->stacks);
	foreign_places_deinit(&foreign->sites);
	foreign_modules_deinit(&foreign->modules);
}

struct error *foreign_string(struct foreign *foreign, struct foreign_text text, const char **ret)
{
	*ret = NULL;
	return text.data ? build_string(foreign->model, text.data, text.len, ret) : NULL;
}

static struct error *too_many(const struct foreign *foreign, uint32_t most, const char *what)
{
	return error_create(ERROR_INPUT, "%s: has more than %" PRIu32 " %s",
		model_recording(foreign->model)->path, most, what);
}

struct error *foreign_module(struct foreign *foreign, struct foreign_text path,
	const struct module *about, struct module_id *ret)
{
	char *copy = arena_strndup(&foreign->names.arena, path.data, path.len);
	const char *kept;
	if (!copy)
		return error_no_memory();
	struct error *error = strings_keep(&foreign->names, copy, &kept);
	if (error)
		return error;
	bool is_new;
	uint32_t *known = foreign_modules_insert(&foreign->modules, kept, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		if (foreign->module_count + 1 == BUILD_MODULES_MAX)
			return too_many(foreign, foreign->module_count, "programs and libraries");
		*known = ++foreign->module_count;
		error = build_module(
			foreign->model, (struct module_id){*known}, about, kept, strlen(kept));
	}
	*ret = (struct module_id){*known};
	return error;
}

static bool foreign_add_text(struct buf *key, struct foreign_text text)
{
	buf_varint(key, text.data ? text.len + 1 : 0);
	return buf_bytes(key, text.data, text.data ? text.len : 0);
}

/* All that the file says of a frame, as bytes. */
static struct error *make_key(struct module_id module, uint64_t address,
	const struct foreign_line *lines, size_t count, struct buf *ret)
{
	buf_varint(ret, module.value);
	buf_varint(ret, address);
	for (size_t i = 0; i < count; i++) {
		foreign_add_text(ret, lines[i].function);
		foreign_add_text(ret, lines[i].raw_name);
		foreign_add_text(ret, lines[i].file);
		buf_varint(ret, lines[i].line);
	}
	return ret->failed ? error_no_memory() : NULL;
}

static bool is_mangled(const char *name)
{
	return name && name[0] == '_' &&
	       (name[1] == 'Z' || name[1] == 'R' || (name[1] == '_' && name[2] == 'Z'));
}

static struct error *give_names(
	struct foreign *foreign, const struct foreign_line *line, struct embedded_frame *ret)
{
	struct error *error = foreign_string(foreign, line->function, &ret->function);
	if (!error)
		error = foreign_string(foreign, line->raw_name, &ret->raw_name);
	if (!error)
		error = foreign_string(foreign, line->file, &ret->file);
	if (error)
		return error;
	ret->line = ret->file ? line->line : 0;
	if (!is_mangled(ret->function))
		return NULL;
	if (!ret->raw_name)
		ret->raw_name = ret->function;
	const char *plain;
	error = strings_keep_demangled(&foreign->names, ret->function, &plain);
	/* The names die before the model. */
	return error ? error : build_string(foreign->model, plain, strlen(plain), &ret->function);
}

/* What the file says of code: of that at an address, or else all that is known of a name. */
static struct error *foreign_give(struct foreign *foreign, const struct foreign_line *lines,
	size_t count, bool has_address, struct foreign_code *code)
{
	struct embedded_frame *frames = arena_alloc(&foreign->names.arena, count * sizeof(*frames));
	if (!frames)
		return error_no_memory();
	memset(frames, 0, count * sizeof(*frames));
	for (size_t i = 0; i < count; i++) {
		struct error *error = give_names(foreign, &lines[i], &frames[i]);
		if (error)
			return error;
		frames[i].inlined = i + 1 < count;
	}
	struct module_id module = {code->place.module};
	struct embedded_run run = {.frames = frames, .count = (uint32_t)count};
	if (has_address)
		return build_embedded_names(foreign->model, module, code->place.address, &run);
	const struct code row = {.kind = FRAME_NAME, .run = run, .home = module};
	struct code_id id = {0};
	struct error *error = build_code(foreign->model, &row, &id);
	code->code = id.value;
	return error;
}

/* Makes a frame that was not there yet. */
static struct error *foreign_add_frame(struct foreign *foreign, struct foreign_place place,
	const struct foreign_line *lines, size_t count)
{
	static const struct foreign_line nothing = {.line = 0};
	bool known = place.address != 0, is_new = false;
	if (known && !foreign_places_insert(&foreign->by_place, place, &is_new))
		return error_no_memory();
	/* The same address with other names, or none: it is not that of this code. */
	bool has_address = known && is_new && place.address < ADDRESSES_END;
	struct foreign_code code = {.place = place};
	if (!has_address)
		code.place.address = 0;
	struct error *error = NULL;
	if (count || !has_address)
		error = foreign_give(
			foreign, count ? lines : &nothing, count ? count : 1, has_address, &code);
	if (error)
		return error;
	return foreign_code_vec_push(&foreign->frames, code) ? NULL : error_no_memory();
}

struct error *foreign_frame(struct foreign *foreign, struct module_id module, uint64_t address,
	bool exact, const struct foreign_line *lines, size_t count, struct foreign_frame *ret)
{
	if (count > LINES_MAX)
		return error_create(ERROR_INPUT, "a frame has %zu inlined functions", count);
	/* Addresses below are numbers of marks, not of code. */
	if (exact && address) {
		address++;
		build_recording(foreign->model)->call_addresses = true;
	}
	if (address < STACK_MARKS)
		address = 0;
	_cleanup_(buf_deinit) struct buf bytes;
	buf_init(&bytes);
	struct error *error = make_key(module, address, lines, count, &bytes);
	if (error)
		return error;
	struct foreign_key key = {.data = bytes.data, .len = bytes.len};
	const uint32_t *known = foreign_keys_find(&foreign->by_lines, key);
	if (known) {
		ret->value = *known;
		return NULL;
	}
	struct foreign_place place = {.module = module.value, .address = address};
	error = foreign_add_frame(foreign, place, lines, count);
	if (error)
		return error;
	uint8_t *copy = arena_alloc(&foreign->names.arena, key.len);
	if (!copy)
		return error_no_memory();
	memcpy(copy, key.data, key.len);
	key.data = copy;
	uint32_t *value = foreign_keys_insert(&foreign->by_lines, key, NULL);
	if (!value)
		return error_no_memory();
	*value = ret->value = (uint32_t)foreign->frames.len;
	return NULL;
}

struct error *foreign_push(struct foreign *foreign, struct stack_id outer,
	struct foreign_frame frame, struct stack_id *ret)
{
	struct foreign_child child = {.parent = outer.value, .frame = frame.value};
	bool is_new;
	uint32_t *known = foreign_children_insert(&foreign->stacks, child, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		if (foreign->stack_count + 1 == BUILD_STACKS_MAX)
			return too_many(foreign, foreign->stack_count, "frames in all stacks");
		struct foreign_code code = foreign->frames.data[frame.value - 1];
		uint16_t module = (uint16_t)code.place.module;
		struct stack_columns row = {.parent = &outer.value,
			.module = &module,
			.address = &code.place.address,
			.code = &code.code};
		*known = ++foreign->stack_count;
		struct error *error =
			build_stacks(foreign->model, (struct stack_id){*known}, &row, 1);
		if (error)
			return error;
	}
	ret->value = *known;
	return NULL;
}

struct error *foreign_site(
	struct foreign *foreign, struct stack_id stack, enum alloc_kind kind, struct site_id *ret)
{
	struct foreign_place key = {.module = stack.value, .address = kind};
	bool is_new;
	uint32_t *known = foreign_places_insert(&foreign->sites, key, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		if (foreign->site_count == BUILD_SITES_MAX)
			return too_many(foreign, foreign->site_count, "stacks");
		*known = foreign->site_count++;
		struct error *error =
			build_site(foreign->model, (struct site_id){*known}, stack, kind);
		if (error)
			return error;
	}
	ret->value = *known;
	return NULL;
}

/* How many blocks of this many bytes a sampled one stands for. */
static double foreign_weight_of(double size, double period)
{
	return 1 / -expm1(-size / period);
}

struct figure_spread {
	double blocks, bytes, blocks_more, bytes_more;
};

/*
 * What of the spread rests on sizes that are not known, of samples that have `size` on average. The
 * weight of a block, and what it stands for in bytes, are convex in its size: the sums of both are
 * least if all are of one size, and most if all but one are as small as can be. No sample adds more
 * than period^2 to the variance of bytes.
 */
static void add_sizes(double samples, double size, double period, struct figure_spread *ret)
{
	double small = fmin(1, size);
	double rest = size * samples - small * (samples - 1);
	double most = (samples - 1) * foreign_weight_of(small, period),
	       last = foreign_weight_of(rest, period);
	double mean = samples * foreign_weight_of(size, period);
	ret->bytes = samples * period * period;
	ret->blocks_more = fmax(most + last - mean, 0);
	ret->bytes_more = fmax(most * small + last * rest - mean * size, 0);
}

/* n blocks that stand for k sampled ones, k binomial: var(n) = n (1 - p) / p. The size of a single
 * sample is known (k is not a whole number: what was scaled is rounded). */
static struct figure_spread spread_of(
	uint64_t blocks, uint64_t bytes, uint64_t period, bool one_size)
{
	struct figure_spread ret = {.blocks = 0};
	if (!blocks)
		return ret;
	double size = (double)bytes / (double)blocks;
	double taken = -expm1(-size / (double)period);
	if (taken <= 0)
		return ret;
	ret.blocks = (double)blocks * (1 - taken) / taken;
	ret.bytes = ret.blocks * size * size;
	double samples = (double)blocks * taken;
	if (!one_size && samples >= 1.5)
		add_sizes(samples, size, (double)period, &ret);
	return ret;
}

void foreign_estimate(struct site *row, uint64_t period, bool one_size)
{
	struct figure_spread all =
		spread_of(row->allocations, row->allocated_bytes, period, one_size);
	struct figure_spread live = spread_of(row->live_blocks, row->live_bytes, period, one_size);
	row->spread = (struct spread){
		.allocations = all.blocks,
		.allocated_bytes = all.bytes,
		.live_blocks = live.blocks,
		.live_bytes = live.bytes,
		.allocations_more = all.blocks_more,
		.allocated_bytes_more = all.bytes_more,
		.live_blocks_more = live.blocks_more,
		.live_bytes_more = live.bytes_more,
	};
}

static struct error *foreign_add(uint64_t *sum, uint64_t more)
{
	return __builtin_add_overflow(*sum, more, sum)
		       ? error_create(ERROR_INPUT, "its figures add up to more than 2^64")
		       : NULL;
}

struct error *foreign_total(struct foreign *foreign)
{
	struct totals *totals = build_totals(foreign->model);
	size_t count;
	model_sites(foreign->model, &count);
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		struct site *site = build_site_at(foreign->model, (struct site_id){(uint32_t)i});
		/* Of a whole file all that is live was allocated in it. */
		site->kept_blocks = site->live_blocks;
		site->kept_bytes = site->live_bytes;
		const struct {
			uint64_t *sum, more;
		} figures[] = {
			{&totals->allocations, site->allocations},
			{&totals->allocated_bytes, site->allocated_bytes},
			{&totals->live_blocks, site->live_blocks},
			{&totals->live_bytes, site->live_bytes},
			{&totals->kept_blocks, site->kept_blocks},
			{&totals->kept_bytes, site->kept_bytes},
			{&totals->peak_blocks, site->peak_blocks},
			{&totals->peak_bytes, site->peak_bytes},
			{&totals->temporary, site->temporary},
			{&totals->failed, site->failed},
		};
		for (size_t k = 0; k < ARRAY_SIZE(figures) && !error; k++)
			error = foreign_add(figures[k].sum, figures[k].more);
		spread_add(&totals->spread, &site->spread);
	}
	return error;
}
