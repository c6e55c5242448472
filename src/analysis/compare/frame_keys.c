/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See frame_keys.h. Names are found by place first (an array for each model), so that the text of a
 * frame is looked at once.
 */
#include "analysis/compare/frame_keys.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/path.h"
#include "symbols/name.h"

static inline uint64_t identity_hash(struct identity name)
{
	uint64_t hash = hash_bytes(name.function, strlen(name.function));
	hash = hash_u64(hash ^ hash_bytes(name.file, strlen(name.file)));
	hash = hash_u64(hash ^ hash_bytes(name.module, strlen(name.module)));
	return hash_u64(hash ^ name.offset ^ (uint64_t)name.line << 32 ^ (uint64_t)name.mark << 60);
}

static inline bool identity_equal(struct identity a, struct identity b)
{
	return a.line == b.line && a.offset == b.offset && a.mark == b.mark &&
	       strcmp(a.function, b.function) == 0 && strcmp(a.file, b.file) == 0 &&
	       strcmp(a.module, b.module) == 0;
}

DEFINE_MAP(identity_map, struct identity, uint32_t, identity_hash, identity_equal)

/* Whether all files that a module's name stands for are one. */
struct module_facts {
	const uint8_t *build_id; /* NULL: some file has none */
	size_t len;
	const struct model *model; /* the last one that has it */
	bool differ, shared;       /* `shared`: several models have it */
};

static inline uint64_t string_hash(const char *string)
{
	return hash_bytes(string, strlen(string));
}

static inline bool string_equal(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static inline bool code_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(code_sides, uint64_t, uint64_t, hash_u64, code_equal)
DEFINE_MAP(module_map, const char *, struct module_facts, string_hash, string_equal)
DEFINE_VEC(number_vec, uint32_t)

/* Which file a short name stands for in one model, and whether for more than that. */
struct short_name {
	const struct model *model;
	const char *path;
	bool several;
};

DEFINE_MAP(short_map, const char *, struct short_name, string_hash, string_equal)

struct side {
	const struct model *model;
	struct number_vec by_place; /* 0: not yet */
};

struct frame_keys {
	struct arena arena;
	struct identity_vec names; /* 0 is unused */
	struct identity_map map;
	struct identity_origin_vec origins;
	struct module_map modules;
	struct short_map shorts;       /* without version, and base names */
	struct module_map executables; /* by path; those that models say are some */
	struct code_sides codes;       /* code_hash() → bit set of the models that have it */
	struct side sides[FRAME_KEYS_SIDES_MAX];
	size_t side_count;
	bool same_recording;
	bool all_have_modules; /* else modules are no part of names: a file of DHAT has none */
	bool all_have_files;   /* else source files are none: folded stacks have none */
	struct text text;      /* to make names in */
};

/* "-1.2", "-2.0", or the eight digits that wheels have: "-f650aae0". */
static bool is_version(const char *dash, size_t len)
{
	if (len < 2 || dash[0] != '-')
		return false;
	if (isdigit((unsigned char)dash[1])) {
		for (size_t i = 1; i < len; i++)
			if (!isdigit((unsigned char)dash[i]) && dash[i] != '.')
				return len == 9;
		return true;
	}
	for (size_t i = 1; i < len; i++)
		if (!isxdigit((unsigned char)dash[i]) || isupper((unsigned char)dash[i]))
			return false;
	return len == 9;
}

/* "libz.so.1.2.13" and "libz-1.3.so" are "libz.so". */
static void frame_keys_add_module(struct text *text, const char *path)
{
	const char *name = path_last_part(path);
	const char *so = strstr(name, ".so");
	if (so && so[3] && so[3] != '.')
		so = NULL;
	size_t stem = so ? (size_t)(so - name) : strlen(name);
	size_t len = stem;
	while (len > 0 && name[len - 1] != '-')
		len--;
	if (len > 1 && is_version(name + len - 1, stem - (len - 1)))
		text_add_n(text, name, len - 1);
	else
		text_add_n(text, name, stem);
	if (so)
		text_add(text, ".so");
}

static bool is_executable(const struct frame_keys *names, const struct side *side, const char *path)
{
	const char *exe = model_target(side->model)->exe;
	if (module_map_find(&names->executables, path))
		return true;
	return exe[0] &&
	       (strcmp(exe, path) == 0 || strcmp(path_last_part(exe), path_last_part(path)) == 0);
}

static const char *frame_keys_keep(struct frame_keys *names, const struct text *text)
{
	return text->failed ? NULL
			    : arena_strndup(&names->arena, text->data ? text->data : "", text->len);
}

/* Whether a model has several files of that short name: plugin-1.so and plugin-2.so. */
static bool is_several(const struct frame_keys *names, const char *name)
{
	const struct short_name *known = short_map_find(&names->shorts, name);
	return known && known->several;
}

/* NULL: no memory. */
static const char *module_name(struct frame_keys *names, const struct side *side, const char *path)
{
	if (is_executable(names, side, path))
		return FRAME_KEYS_EXECUTABLE;
	text_clear(&names->text);
	frame_keys_add_module(&names->text, path);
	const char *ret = frame_keys_keep(names, &names->text);
	if (!ret || !is_several(names, ret))
		return ret;
	ret = path_last_part(path);
	return is_several(names, ret) ? path : ret;
}

/* Ways to write the namespace without a name. */
static const char *const anonymous[] = {
	"{anonymous}", "_GLOBAL__N_1", "(anonymous namespace)", "{{anonymous}}", "<anonymous>"};

/* The length of one at `at`; 0: none is there. */
static size_t anonymous_len(const char *at)
{
	if (!strchr("{_(<", *at))
		return 0;
	for (size_t i = 0; i < sizeof(anonymous) / sizeof(anonymous[0]); i++)
		if (strncmp(at, anonymous[i], strlen(anonymous[i])) == 0)
			return strlen(anonymous[i]);
	return 0;
}

/* The length of a remark that says nothing of the function: " [clone .cold]", "[abi:cxx11]". */
static size_t remark_len(const char *at)
{
	static const char *const remarks[] = {" [clone ", "[abi:"};
	for (size_t i = 0; i < sizeof(remarks) / sizeof(remarks[0]); i++) {
		const char *end = strchr(at, ']');
		if (strncmp(at, remarks[i], strlen(remarks[i])) == 0 && end)
			return (size_t)(end - at) + 1;
	}
	return 0;
}

static void frame_keys_add_function(struct text *text, const char *function)
{
	const char *end = function + name_plain_len(function);
	for (const char *at = function; at < end;) {
		size_t len = remark_len(at);
		if (len) {
			at += len;
		} else if ((len = anonymous_len(at)) > 0) {
			text_add(text, "(anonymous namespace)");
			at += len;
		} else {
			text_add_char(text, *at++);
		}
	}
}

/* Equal of the same code with the same lines, in whatever model. */
static uint64_t code_hash(const struct code *code)
{
	const char *const words[] = {
		code->name, code->outer, code->signature, code->file, code->module};
	uint64_t hash = hash_u64((uint64_t)code->kind << 32 | code->first_line);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = hash_u64(hash ^ (words[i] ? hash_bytes(words[i], strlen(words[i])) : i + 1));
	for (size_t i = 0; i < code->line_count; i++)
		hash = hash_u64(
			hash ^ ((uint64_t)code->lines[i].instruction << 32 | code->lines[i].line));
	return hash;
}

/* Whether all models have the code, with the same lines. */
static bool is_same_code(const struct frame_keys *names, const struct code *code)
{
	const uint64_t *sides = code_sides_find(&names->codes, code_hash(code));
	return names->same_recording ||
	       (sides && (unsigned)__builtin_popcountll(*sides) == names->side_count);
}

/* Code objects and methods are known by what their language calls them, and methods by their
 * parameters, too; their lines count where no line of them has moved. */
static struct error *describe_managed(
	struct frame_keys *names, const struct shown_frame *frame, struct identity *ret)
{
	text_clear(&names->text);
	if (frame->function)
		text_add(&names->text, frame->function);
	ret->function = frame_keys_keep(names, &names->text);
	ret->module = frame->module && names->all_have_modules ? frame->module : "";
	ret->file = frame->file && names->all_have_files ? path_last_part(frame->file) : "";
	ret->line = is_same_code(names, frame->code) ? frame->line : 0;
	return ret->function ? NULL : error_no_memory();
}

static bool is_same_file(const struct frame_keys *names, const char *module)
{
	if (names->same_recording)
		return true;
	const struct module_facts *facts = module_map_find(&names->modules, module);
	bool shared = facts && (facts->shared || names->side_count == 1);
	return shared && facts->build_id && !facts->differ;
}

static struct error *frame_keys_describe(struct frame_keys *names, const struct side *side,
	const struct shown_frame *frame, struct identity *ret)
{
	*ret = (struct identity){.function = "", .file = "", .module = "", .mark = frame->mark};
	if (frame->mark != MARK_NONE)
		return NULL;
	if (shown_frame_is_managed(frame))
		return describe_managed(names, frame, ret);
	if (frame->module_path && names->all_have_modules)
		ret->module = module_name(names, side, frame->module_path);
	if (!ret->module)
		return error_no_memory();
	bool same = frame->module_path && is_same_file(names, ret->module);
	ret->same_file = same;
	/* Valgrind's word for code without a name. */
	if (!frame->function || strcmp(frame->function, "???") == 0) {
		bool placed = frame->module_path && !frame->unplaced;
		ret->offset = same && placed                     ? frame->offset + 1
			      : !placed && names->same_recording ? frame->address
								 : 0;
		return NULL;
	}
	text_clear(&names->text);
	frame_keys_add_function(&names->text, frame->function);
	ret->function = frame_keys_keep(names, &names->text);
	ret->file = frame->file && names->all_have_files ? path_last_part(frame->file) : "";
	ret->line = same ? frame->line : 0;
	return ret->function ? NULL : error_no_memory();
}

/* Its module is all that tells it from others. */
static bool is_bare(const struct identity *name)
{
	return name->mark == MARK_NONE && !*name->function && *name->module && !name->offset;
}

static struct error *frame_keys_insert(struct frame_keys *names, const struct side *side,
	const struct shown_frame *frame, uint32_t *ret)
{
	struct identity name;
	struct error *error = frame_keys_describe(names, side, frame, &name);
	if (error)
		return error;
	bool is_new;
	uint32_t *number = identity_map_insert(&names->map, name, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = (uint32_t)names->names.len;
		name.example = frame;
		if (!identity_vec_push(&names->names, name))
			return error_no_memory();
	}
	struct identity *known = &names->names.data[*number];
	known->several |= is_bare(known) && known->sides >> (side - names->sides) & 1;
	*ret = *number;
	return NULL;
}

struct error *frame_keys_add(
	struct frame_keys *names, unsigned side, const struct shown_frame *frame, uint32_t *ret)
{
	assert(side < names->side_count);
	struct number_vec *by_place = &names->sides[side].by_place;
	while (by_place->len <= frame->place)
		if (!number_vec_push(by_place, 0))
			return error_no_memory();
	uint32_t *known = &by_place->data[frame->place];
	if (!*known) {
		struct error *error = frame_keys_insert(names, &names->sides[side], frame, known);
		if (error)
			return error;
		names->names.data[*known].sides |= UINT64_C(1) << side;
		struct identity_origin origin = {
			*known, {frame->module_path, frame->code_module, side}};
		if (!identity_origin_vec_push(&names->origins, origin))
			return error_no_memory();
	}
	*ret = *known;
	return NULL;
}

const struct identity *frame_keys_get(const struct frame_keys *names, uint32_t number)
{
	return &names->names.data[number];
}

size_t frame_keys_limit(const struct frame_keys *names)
{
	return names->names.len;
}

const struct identity_origin *frame_keys_origins(const struct frame_keys *names, size_t *ret_count)
{
	*ret_count = names->origins.len;
	return names->origins.data;
}

bool frame_keys_is_vague(const struct frame_keys *names, uint32_t number)
{
	const struct identity *name = &names->names.data[number];
	if (!is_bare(name))
		return false;
	const struct module_facts *facts = module_map_find(&names->modules, name->module);
	uint64_t all = names->side_count < 64 ? (UINT64_C(1) << names->side_count) - 1 : UINT64_MAX;
	return name->several || (facts && facts->shared && name->sides != all);
}

/* Of glibc, as its debug files and its exports call them. */
static bool starts_threads(const struct shown_frame *frame)
{
	static const char *const starters[] = {
		"start_thread", "clone", "clone3", "__clone", "__clone3", "__clone_internal"};
	for (size_t i = 0; frame->function && i < sizeof(starters) / sizeof(starters[0]); i++)
		if (strcmp(frame->function, starters[i]) == 0)
			return true;
	return false;
}

static size_t depth_by_names(const struct shown_frame *const *frames, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		if (shown_frame_is_main(frames[i]))
			return i + 1;
	size_t last = depth;
	while (last &&
		(shown_frame_is_remark(frames[last - 1]) || starts_threads(frames[last - 1])))
		last--;
	return last ? last : depth;
}

size_t frame_keys_depth(
	const struct frame_keys *names, const struct shown_frame *const *frames, size_t depth)
{
	size_t last = 0;
	if (!names->all_have_modules)
		return depth_by_names(frames, depth);
	for (size_t i = 0; i < depth; i++) {
		if (!frames[i]->is_program)
			continue;
		last = i + 1;
		if (shown_frame_is_main(frames[i]))
			return last;
	}
	return last ? last : depth;
}

/* False: it names code without saying in which file, as DHAT does. */
static bool has_modules(const struct model *model)
{
	for (uint32_t id = 1; id < model_stack_limit(model); id++) {
		struct stack_node node = model_stack(model, (struct stack_id){id});
		if (node.kind != FRAME_MARK && !model_module(model, node.module)->path[0] &&
			model_embedded(model, node))
			return false;
	}
	return true;
}

/* False: it names functions, and of none the source file, as folded stacks do. */
static bool has_files(const struct model *model)
{
	bool any = false;
	for (uint32_t id = 1; id < model_stack_limit(model); id++) {
		struct stack_node node = model_stack(model, (struct stack_id){id});
		const struct embedded_run *run = model_embedded(model, node);
		for (size_t i = 0; run && i < run->count; i++)
			if (run->frames[i].file && *run->frames[i].file)
				return true;
		const struct code *code =
			node.code.value && !run ? model_code(model, node.code) : NULL;
		if (code && code->file)
			return true;
		any |= run || (code && node.kind != FRAME_NAME);
	}
	return !any;
}

static struct error *note_code(struct frame_keys *names, const struct model *model, unsigned side)
{
	for (uint32_t i = 1; i < model_code_limit(model); i++) {
		const struct code *code = model_code(model, (struct code_id){i});
		bool is_new;
		if (code->kind == FRAME_NAME)
			continue;
		uint64_t *sides = code_sides_insert(&names->codes, code_hash(code), &is_new);
		if (!sides)
			return error_no_memory();
		*sides = (is_new ? 0 : *sides) | UINT64_C(1) << side;
	}
	return NULL;
}

static struct error *note_executables(struct frame_keys *names, const struct model *model)
{
	/* A profile of it may not say which of its files is the program. */
	const char *exe = model_target(model)->exe;
	if (exe[0] && !module_map_insert(&names->executables, exe, NULL))
		return error_no_memory();
	for (uint32_t id = 1; id < model_module_limit(model); id++) {
		const struct module *module = model_module(model, (struct module_id){id});
		if (module->executable &&
			!module_map_insert(&names->executables, module->path, NULL))
			return error_no_memory();
	}
	return NULL;
}

static struct error *note_short_name(
	struct frame_keys *names, const struct model *model, const char *name, const char *path)
{
	bool is_new;
	struct short_name *known = short_map_insert(&names->shorts, name, &is_new);
	if (!known)
		return error_no_memory();
	if (!is_new && known->model == model && strcmp(known->path, path) != 0)
		known->several = true;
	known->model = model;
	known->path = path;
	return NULL;
}

static struct error *note_short_names(struct frame_keys *names, const struct model *model)
{
	struct error *error = NULL;
	for (uint32_t id = 1; id < model_module_limit(model) && !error; id++) {
		const char *path = model_module(model, (struct module_id){id})->path;
		if (!path[0])
			continue;
		text_clear(&names->text);
		frame_keys_add_module(&names->text, path);
		const char *name = frame_keys_keep(names, &names->text),
			   *base = path_last_part(path);
		error = name ? note_short_name(names, model, name, path) : error_no_memory();
		/* Where no version was left out it is the same entry. */
		if (!error && strcmp(name, base) != 0)
			error = note_short_name(names, model, base, path);
	}
	return error;
}

static struct error *note_modules(struct frame_keys *names, const struct side *side)
{
	for (uint32_t id = 1; id < model_module_limit(side->model); id++) {
		const struct module *module = model_module(side->model, (struct module_id){id});
		if (!module->path[0])
			continue;
		const char *name = module_name(names, side, module->path);
		if (!name)
			return error_no_memory();
		bool is_new;
		struct module_facts *facts = module_map_insert(&names->modules, name, &is_new);
		if (!facts)
			return error_no_memory();
		facts->shared |= facts->model && facts->model != side->model;
		facts->model = side->model;
		bool known = module->build_id && module->build_id_len;
		if (is_new && known)
			*facts = (struct module_facts){.build_id = module->build_id,
				.len = module->build_id_len,
				.model = side->model};
		else if (!known || !facts->build_id || facts->len != module->build_id_len ||
			 memcmp(facts->build_id, module->build_id, facts->len) != 0)
			facts->differ = true;
	}
	return NULL;
}

struct error *frame_keys_create(const struct model *const *models, size_t count,
	bool same_recording, struct frame_keys **ret)
{
	assert(count <= FRAME_KEYS_SIDES_MAX);
	_cleanup_(frame_keys_cleanup) struct frame_keys *names = calloc(1, sizeof(*names));
	if (!names)
		return error_no_memory();
	arena_init(&names->arena);
	text_init(&names->text);
	names->same_recording = same_recording;
	names->side_count = count;
	if (!identity_vec_push(
		    &names->names, (struct identity){.function = "", .file = "", .module = ""}))
		return error_no_memory();
	struct error *shorts = NULL;
	names->all_have_modules = names->all_have_files = true;
	for (size_t i = 0; i < count && !shorts; i++) {
		names->all_have_modules &= has_modules(models[i]);
		names->all_have_files &= has_files(models[i]);
		shorts = note_short_names(names, models[i]);
	}
	if (shorts)
		return shorts;
	for (size_t i = 0; i < count; i++) {
		names->sides[i].model = models[i];
		struct error *error = note_executables(names, models[i]);
		if (!error)
			error = note_modules(names, &names->sides[i]);
		if (!error)
			error = note_code(names, models[i], (unsigned)i);
		if (error)
			return error;
	}
	*ret = steal_ptr(names);
	return NULL;
}

void frame_keys_destroy(struct frame_keys *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->side_count; i++)
		number_vec_deinit(&names->sides[i].by_place);
	arena_deinit(&names->arena);
	identity_vec_deinit(&names->names);
	identity_origin_vec_deinit(&names->origins);
	identity_map_deinit(&names->map);
	module_map_deinit(&names->modules);
	module_map_deinit(&names->executables);
	short_map_deinit(&names->shorts);
	code_sides_deinit(&names->codes);
	text_deinit(&names->text);
	free(names);
}
