/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See resolve.h. Three tables, each filled on first use:
 *
 *   stack node ──by_node──▶ entry (a run of shown frames) ◀──entries── (symbol module, ELF address)
 *   shown frame ──places──▶ place number (function, file, line, module, inlined)
 *
 * by_node makes the common case, a frame seen before in another stack, one array read; the map
 * behind it makes modules that were loaded again at another address share their frames.
 */
#include "analysis/resolve.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pattern.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"
#include "symbols/known.h"
#include "symbols/name.h"
#include "symbols/symbols.h"

#define NO_MODULE UINT32_MAX /* code without a file */
#define MARKS_MODULE (UINT32_MAX - 1)
#define GIVEN_MODULE (UINT32_MAX - 2) /* what the source says itself, by number */

#define NOTHING_SHOWN 1u /* an entry */

struct frame_key {
	uint32_t module;  /* of symbols, or one of those below */
	uint64_t address; /* ELF address looked up; in the target's memory without a module */
};

static inline uint64_t frame_key_hash(struct frame_key key)
{
	return hash_u64(key.address ^ hash_u64(key.module));
}

static inline bool frame_key_equal(struct frame_key a, struct frame_key b)
{
	return a.module == b.module && a.address == b.address;
}

DEFINE_MAP(frame_map, struct frame_key, uint32_t, frame_key_hash, frame_key_equal)

/* Strings are never NULL here, so that they compare plainly; no function: "", told by address. */
struct place_key {
	const char *function, *file, *module;
	uint64_t address;
	uint32_t line;
	bool inlined;
};

static inline uint64_t place_key_hash(struct place_key key)
{
	uint64_t hash = hash_bytes(key.function, strlen(key.function));
	hash = hash_u64(hash ^ hash_bytes(key.file, strlen(key.file)));
	hash = hash_u64(hash ^ hash_bytes(key.module, strlen(key.module)));
	return hash_u64(hash ^ key.address ^ ((uint64_t)key.line << 1 | key.inlined) << 20);
}

static inline bool place_key_equal(struct place_key a, struct place_key b)
{
	return a.line == b.line && a.inlined == b.inlined && a.address == b.address &&
	       strcmp(a.function, b.function) == 0 && strcmp(a.file, b.file) == 0 &&
	       strcmp(a.module, b.module) == 0;
}

DEFINE_MAP(place_map, struct place_key, uint32_t, place_key_hash, place_key_equal)

/* A file is one module of symbols however often it was loaded. */
struct file_key {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len;
};

static inline uint64_t file_key_hash(struct file_key key)
{
	return hash_bytes(key.path, strlen(key.path));
}

static inline bool file_key_equal(struct file_key a, struct file_key b)
{
	return strcmp(a.path, b.path) == 0 && a.build_id_len == b.build_id_len &&
	       (a.build_id_len == 0 || memcmp(a.build_id, b.build_id, a.build_id_len) == 0);
}

DEFINE_MAP(files_map, struct file_key, uint32_t, file_key_hash, file_key_equal)

/* A file in the order in which stacks met them. */
struct met_file {
	const char *path;
	uint32_t module;
};

DEFINE_VEC(met_vec, struct met_file)

/* A run in `shown`. */
struct entry {
	uint32_t first, count;
};

DEFINE_VEC(entry_vec, struct entry)

struct resolver {
	const struct model *model;
	struct symbols *symbols;
	struct arena arena; /* shown frames */
	struct frame_vec shown;
	struct entry_vec entries; /* 0 is unused, NOTHING_SHOWN empty */
	struct frame_map frames;
	struct place_map places;
	struct files_map files;
	struct met_vec met;
	uint32_t *by_node;   /* entry of each stack node; 0: not yet */
	uint32_t *by_module; /* symbol module + 1 of each model module; 0: not yet */
	const struct shown_frame *kinds[ALLOC_KINDS];
	bool all_frames, with_aliases;
	struct pattern *drop, *keep; /* of whole functions; NULL: none */
};

static const struct mark_words {
	const char *cut; /* NULL: the stack is whole as far as it was taken */
	const char *text;
} marks[STACK_MARKS] = {
	[MARK_DEPTH_LIMIT] = {"depth-limit", "the stack was cut here: too deep"},
	[MARK_NO_UNWIND_INFO] = {"no-unwind-info", "no unwind information from here on"},
	[MARK_TABLE_FULL] = {"table-full", "the table of stacks was full"},
	[MARK_SIGNAL] = {NULL, SIGNAL_FRAME_NAME},
	[MARK_GUESSED] = {NULL, "from here on found by frame pointers alone"},
	[MARK_IN_HANDLER] = {"in-signal-handler",
		"inside a signal handler: no stack could be taken"},
};

const char *stack_mark_cut(enum stack_mark mark)
{
	return marks[mark].cut;
}

const char *stack_mark_text(enum stack_mark mark)
{
	return marks[mark].text ? marks[mark].text : "a remark this version does not know";
}

static bool is_allocator(const struct shown_frame *frame)
{
	const char *name = shown_frame_plain(frame);
	return (frame->module && known_allocator_module(frame->module)) ||
	       (name && known_allocator(name));
}

static bool is_program(const struct shown_frame *frame)
{
	/* A function without a module is the allocation function that all_frames adds. */
	if (frame->mark != MARK_NONE || (!frame->module && frame->function && !frame->address))
		return false;
	if (frame->file && strstr(frame->file, KNOWN_RUNTIME_FOLDER))
		return false;
	const char *name = shown_frame_plain(frame);
	return !(frame->module && known_runtime_module(frame->module)) &&
	       !(name && known_runtime_function(name));
}

void shown_frame_add_code(struct text *text, const struct shown_frame *frame)
{
	if (frame->function)
		text_add(text, frame->function);
	else if (frame->module)
		text_printf(text, "%s+0x%" PRIx64, frame->module, frame->offset);
	else
		text_printf(text, "0x%" PRIx64, frame->address);
}

void shown_frame_add_shown(struct text *text, const struct shown_frame *frame)
{
	_cleanup_(text_deinit) struct text code;
	text_init(&code);
	shown_frame_add_code(&code, frame);
	text_add_shown(text, code.data ? code.data : "", SIZE_MAX);
	text->failed |= code.failed;
}

void shown_frame_add_line(struct text *text, const struct shown_frame *frame)
{
	const char *slash = strrchr(frame->file, '/');
	text_add_shown(text, slash ? slash + 1 : frame->file, SIZE_MAX);
	if (frame->line)
		text_printf(text, ":%" PRIu32, frame->line);
}

static struct error *find_place(struct resolver *resolver, struct shown_frame *frame)
{
	struct place_key key = {
		.function = frame->function ? frame->function : "",
		.file = frame->file ? frame->file : "",
		.module = frame->module_path ? frame->module_path : "",
		.address = frame->function ? 0
			   : frame->module ? frame->offset
					   : frame->address,
		.line = frame->line,
		.inlined = frame->inlined,
	};
	if (frame->mark != MARK_NONE)
		key.line = (uint32_t)frame->mark;
	bool is_new;
	uint32_t next = (uint32_t)resolver->places.len;
	uint32_t *place = place_map_insert(&resolver->places, key, &is_new);
	if (!place)
		return error_no_memory();
	if (is_new)
		*place = next;
	frame->place = *place;
	return NULL;
}

static struct error *add_frame(struct resolver *resolver, struct shown_frame frame)
{
	struct error *error = find_place(resolver, &frame);
	if (error)
		return error;
	frame.is_program = is_program(&frame);
	const char *name = shown_frame_plain(&frame);
	frame.is_wrapper = name && known_wrapper(name);
	struct shown_frame *copy = arena_alloc(&resolver->arena, sizeof(*copy));
	if (!copy)
		return error_no_memory();
	*copy = frame;
	return frame_vec_push(&resolver->shown, copy) ? NULL : error_no_memory();
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* The module of symbols for a module of the model; NO_MODULE if it has no file. */
static struct error *symbol_module(
	struct resolver *resolver, struct module_id id, uint32_t *ret_module)
{
	uint32_t *known = &resolver->by_module[id.value];
	const struct module *module = model_module(resolver->model, id);
	if (*known == 0 && module->path[0] != '\0') {
		struct file_key key = {module->path, module->build_id, module->build_id_len};
		bool is_new;
		uint32_t *file = files_map_insert(&resolver->files, key, &is_new);
		if (!file)
			return error_no_memory();
		if (is_new) {
			struct error *error = symbols_add_module(resolver->symbols, module->path,
				module->build_id, module->build_id_len, file);
			if (error)
				return error;
			struct met_file met = {.path = module->path, .module = *file};
			if (!met_vec_push(&resolver->met, met))
				return error_no_memory();
		}
		*known = *file + 1;
	}
	*ret_module = *known ? *known - 1 : NO_MODULE;
	return NULL;
}

/* A file too broken to read costs its names, never the report. */
static struct error *look_up(struct resolver *resolver, struct frame_key key,
	const struct symbol **ret, size_t *ret_count)
{
	*ret_count = 0;
	if (key.module == NO_MODULE)
		return NULL;
	struct error *error =
		symbols_resolve(resolver->symbols, key.module, key.address, ret, ret_count);
	if (!error || error->code != ERROR_INPUT)
		return error;
	error_destroy(error);
	*ret_count = 0;
	return NULL;
}

static struct error *find_aliases(
	struct resolver *resolver, struct frame_key key, struct shown_frame *frame)
{
	if (!resolver->with_aliases || key.module == NO_MODULE)
		return NULL;
	struct error *error = symbols_real_path(resolver->symbols, key.module, &frame->real_path);
	if (error || frame->inlined)
		return error;
	return symbols_aliases(
		resolver->symbols, key.module, key.address, &frame->aliases, &frame->alias_count);
}

/*
 * A return address belongs to the call before it, so it is looked up at address - 1; a frame that a
 * signal interrupted (the node outward of it says so) stands at its exact address.
 */
static uint64_t lookup_address(const struct resolver *resolver, struct stack_node node)
{
	struct stack_node outer = model_stack(resolver->model, node.parent);
	return node.address - (stack_node_mark(outer) == MARK_SIGNAL ? 0 : 1);
}

static void add_module(struct shown_frame *frame, const struct module *module)
{
	if (module->path[0] == '\0')
		return;
	bool vdso = strcmp(module->path, SYMBOLS_VDSO) == 0;
	frame->module_path = vdso ? "[vdso]" : module->path;
	frame->module = vdso ? "vdso" : last_part(module->path);
}

/* Sets the function in the form that is wanted; `linkage_name` may be NULL. */
static struct error *name_frame(struct resolver *resolver, const char *function,
	const char *linkage_name, struct shown_frame *frame)
{
	const struct symbols_settings *settings = model_names_from(resolver->model);
	enum symbols_names form = settings ? settings->names : SYMBOLS_NAMES_SHORT;
	frame->function = frame->plain = function;
	if (form == SYMBOLS_NAMES_RAW) {
		frame->function = linkage_name      ? linkage_name
				  : frame->raw_name ? frame->raw_name
						    : function;
	} else if (form == SYMBOLS_NAMES_FULL && linkage_name && name_is_mangled(linkage_name)) {
		_cleanup_(text_deinit) struct text whole;
		text_init(&whole);
		name_add_whole(&whole, linkage_name);
		char *kept = whole.failed ? NULL : arena_alloc(&resolver->arena, whole.len + 1);
		if (!kept)
			return error_no_memory();
		memcpy(kept, whole.data ? whole.data : "", whole.len + 1);
		frame->function = kept;
	}
	return NULL;
}

/* Adds the shown frames of one physical frame, innermost first. */
static struct error *add_code(struct resolver *resolver, struct stack_node node,
	const struct module *module, struct frame_key key)
{
	struct shown_frame frame = {
		.address = node.address,
		.names_call = model_recording(resolver->model)->call_addresses,
	};
	frame.offset = key.module != NO_MODULE ? key.address : 0;
	add_module(&frame, module);
	if (key.module == NO_MODULE)
		frame.function = model_code_name(resolver->model, node.address);
	const struct symbol *symbols = NULL;
	size_t count = 0;
	struct error *error = look_up(resolver, key, &symbols, &count);
	/* Where a stack begins nobody called: makecontext leaves the very start of a function. */
	if (!error && count == 1 && !symbols->function && node.parent.value == 0) {
		key.address++;
		error = look_up(resolver, key, &symbols, &count);
	}
	if (error)
		return error;
	if (count == 0)
		return add_frame(resolver, frame);
	for (size_t i = 0; i < count && !error; i++) {
		frame.raw_name = symbols[i].raw_name;
		error = name_frame(resolver, symbols[i].function, symbols[i].linkage_name, &frame);
		frame.file = symbols[i].file;
		frame.line = symbols[i].line;
		frame.inlined = symbols[i].inlined;
		if (!error)
			error = find_aliases(resolver, key, &frame);
		if (!error)
			error = add_frame(resolver, frame);
	}
	return error;
}

/* The same of code that the source names itself. */
static struct error *add_given(struct resolver *resolver, struct stack_node node,
	const struct module *module, const struct given_run *run)
{
	struct shown_frame frame = {
		.address = run->no_address ? 0 : node.address,
		.given = true,
		.names_call = model_recording(resolver->model)->call_addresses,
		.by_name = model_recording(resolver->model)->whole_stacks,
	};
	add_module(&frame, module);
	/* Without its range nothing is known of where in the file that is. */
	if (frame.module && module->end && !run->no_address)
		frame.offset = lookup_address(resolver, node) - module->bias;
	for (uint32_t i = 0; i < run->count; i++) {
		const struct given_frame *given = &run->frames[i];
		frame.raw_name = given->raw_name;
		struct error *error =
			name_frame(resolver, given->function, given->raw_name, &frame);
		frame.file = given->file;
		frame.line = given->line;
		frame.inlined = given->inlined;
		if (!error)
			error = add_frame(resolver, frame);
		if (error)
			return error;
	}
	return NULL;
}

/* Makes the entry of a frame that no table knows yet. */
static struct error *add_entry(struct resolver *resolver, struct stack_node node,
	const struct given_run *given, struct frame_key key, uint32_t *ret)
{
	struct entry entry = {.first = (uint32_t)resolver->shown.len};
	enum stack_mark mark = stack_node_mark(node);
	const struct module *module = model_module(resolver->model, node.module);
	struct error *error = mark != MARK_NONE
				      ? add_frame(resolver, (struct shown_frame){.mark = mark})
			      : given ? add_given(resolver, node, module, given)
				      : add_code(resolver, node, module, key);
	if (error)
		return error;
	entry.count = (uint32_t)resolver->shown.len - entry.first;
	*ret = (uint32_t)resolver->entries.len;
	return entry_vec_push(&resolver->entries, entry) ? NULL : error_no_memory();
}

/*
 * The frame that a handler returns to lies right inward of the frame that its signal interrupted.
 * It is code that the kernel was told to use (__restore_rt of libc), which says nothing to anybody.
 */
static bool is_trampoline(const struct resolver *resolver, struct stack_node node)
{
	struct stack_node outer = model_stack(resolver->model, node.parent);
	return stack_node_mark(node) == MARK_NONE && stack_node_mark(outer) == MARK_NONE &&
	       stack_node_mark(model_stack(resolver->model, outer.parent)) == MARK_SIGNAL;
}

/*
 * A signal is shown where a reader expects it: instead of the trampoline, between the handler and
 * what it interrupted. The mark itself stands one frame further out and is not shown.
 */
static struct error *find_entry(struct resolver *resolver, struct stack_id id, uint32_t *ret)
{
	struct stack_node node = model_stack(resolver->model, id);
	if (stack_node_mark(node) == MARK_SIGNAL) {
		*ret = NOTHING_SHOWN;
		return NULL;
	}
	if (is_trampoline(resolver, node))
		node = (struct stack_node){.address = MARK_SIGNAL};
	const struct given_run *given = model_given(resolver->model, node.module, node.address);
	struct frame_key key = {.module = MARKS_MODULE, .address = node.address};
	if (given) {
		key = (struct frame_key){.module = GIVEN_MODULE,
			.address = model_given_number(resolver->model, given)};
	} else if (stack_node_mark(node) == MARK_NONE) {
		struct error *error = symbol_module(resolver, node.module, &key.module);
		if (error)
			return error;
		key.address = lookup_address(resolver, node);
		if (key.module != NO_MODULE)
			key.address -= model_module(resolver->model, node.module)->bias;
	}
	uint32_t *known = frame_map_find(&resolver->frames, key);
	if (known) {
		*ret = *known;
		return NULL;
	}
	struct error *error = add_entry(resolver, node, given, key, ret);
	if (error)
		return error;
	bool is_new;
	known = frame_map_insert(&resolver->frames, key, &is_new);
	if (!known)
		return error_no_memory();
	*known = *ret;
	return NULL;
}

/* The called function itself, for all_frames. */
static struct error *kind_frame(
	struct resolver *resolver, enum alloc_kind kind, const struct shown_frame **ret)
{
	if (!resolver->kinds[kind]) {
		struct error *error = add_frame(
			resolver, (struct shown_frame){.function = alloc_kind_name(kind)});
		if (error)
			return error;
		resolver->kinds[kind] = resolver->shown.data[resolver->shown.len - 1];
	}
	*ret = resolver->kinds[kind];
	return NULL;
}

size_t shown_frames_hidden(const struct shown_frame *const *frames, size_t count)
{
	size_t hidden = 0;
	while (hidden < count && is_allocator(frames[hidden]))
		hidden++;
	return hidden == count ? 0 : hidden;
}

static void hide_allocators(struct frame_vec *frames)
{
	size_t hidden = shown_frames_hidden(frames->data, frames->len);
	if (hidden == 0)
		return;
	memmove(frames->data, frames->data + hidden,
		(frames->len - hidden) * sizeof(*frames->data));
	frames->len -= hidden;
}

/* Without arguments, as pprof compares it. */
static bool is_dropped(const struct resolver *resolver, const struct shown_frame *frame)
{
	static const char *const reserved[] = {"(anonymous namespace)", "operator()"};
	const char *name = shown_frame_plain(frame);
	char plain[512];
	if (!name)
		return false;
	for (const char *at = name; (at = strchr(at, '(')); at++) {
		bool is_reserved = false;
		for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
			size_t lead = (size_t)(strchr(reserved[i], '(') - reserved[i]);
			is_reserved |= (size_t)(at - name) >= lead &&
				       strncmp(at - lead, reserved[i], strlen(reserved[i])) == 0;
		}
		if (is_reserved || (size_t)(at - name) >= sizeof(plain))
			continue;
		memcpy(plain, name, (size_t)(at - name));
		plain[at - name] = '\0';
		name = plain;
		break;
	}
	return pattern_match(resolver->drop, name) &&
	       !(resolver->keep && pattern_match(resolver->keep, name));
}

/* Leaves out the outermost frame that is to be dropped and all inward of it, but never all. */
static void drop_frames(const struct resolver *resolver, struct frame_vec *frames)
{
	size_t kept = 0;
	while (kept < frames->len) {
		bool dropped = is_dropped(resolver, frames->data[frames->len - 1 - kept]);
		if (dropped && kept)
			break;
		kept++;
	}
	memmove(frames->data, frames->data + (frames->len - kept), kept * sizeof(*frames->data));
	frames->len = kept;
}

static struct error *whole_pattern(const char *text, struct pattern **ret)
{
	_cleanup_(text_deinit) struct text whole;
	text_init(&whole);
	text_printf(&whole, "^(?:%s)$", text);
	if (whole.failed)
		return error_no_memory();
	/* What a file says wrongly it has not said. */
	struct error *error = pattern_create(whole.data, ret);
	if (error && error->code == ERROR_USAGE) {
		error_destroy(error);
		error = NULL;
	}
	return error;
}

static struct error *take_dropped(struct resolver *resolver)
{
	const struct recording *recording = model_recording(resolver->model);
	if (resolver->all_frames || !recording->drop_frames)
		return NULL;
	struct error *error = whole_pattern(recording->drop_frames, &resolver->drop);
	if (!error && recording->keep_frames)
		error = whole_pattern(recording->keep_frames, &resolver->keep);
	return error;
}

/* Where the end of main is told of, the runtime calls main: that is nothing of the program's. */
static void drop_wrapper(struct frame_vec *frames)
{
	static const char runtime[] = "libheapwise-rt.so";
	size_t kept = shown_frames_hidden(frames->data, frames->len);
	for (size_t i = kept; i < frames->len; i++)
		if (!frames->data[i]->module ||
			strncmp(frames->data[i]->module, runtime, strlen(runtime)) != 0)
			frames->data[kept++] = frames->data[i];
	frames->len = kept;
}

struct error *resolver_stack(struct resolver *resolver, struct stack_id stack, enum alloc_kind kind,
	struct frame_vec *ret)
{
	ret->len = 0;
	if (resolver->all_frames && kind != KIND_UNKNOWN) {
		const struct shown_frame *frame;
		struct error *error = kind_frame(resolver, kind, &frame);
		if (error)
			return error;
		if (!frame_vec_push(ret, frame))
			return error_no_memory();
	}
	bool guessed = false;
	for (struct stack_id id = stack; id.value != 0;
		id = model_stack(resolver->model, id).parent) {
		uint32_t *known = &resolver->by_node[id.value];
		if (*known == 0) {
			struct error *error = find_entry(resolver, id, known);
			if (error)
				return error;
		}
		struct entry entry = resolver->entries.data[*known];
		/* Each guessed step has a mark; "from here on" is said once. */
		if (entry.count == 1 && resolver->shown.data[entry.first]->mark == MARK_GUESSED) {
			if (guessed)
				continue;
			guessed = true;
		}
		for (uint32_t i = 0; i < entry.count; i++)
			if (!frame_vec_push(ret, resolver->shown.data[entry.first + i]))
				return error_no_memory();
	}
	drop_wrapper(ret);
	if (resolver->drop)
		drop_frames(resolver, ret);
	if (!resolver->all_frames && !model_recording(resolver->model)->whole_stacks)
		hide_allocators(ret);
	return NULL;
}

struct error *resolver_data(
	struct resolver *resolver, struct module_id id, uint64_t address, struct shown_data *ret)
{
	const struct module *module = model_module(resolver->model, id);
	*ret = (struct shown_data){.offset = address - module->bias};
	if (module->path[0] == '\0')
		return NULL;
	ret->module = last_part(module->path);
	uint32_t number;
	struct symbol_variable variable = {.name = NULL};
	struct error *error = symbol_module(resolver, id, &number);
	if (!error && number != NO_MODULE)
		error = symbols_variable(resolver->symbols, number, ret->offset, &variable);
	if (error || !variable.name)
		return error;
	ret->name = variable.name;
	ret->offset = variable.offset;
	ret->file = variable.file;
	ret->line = variable.line;
	return NULL;
}

void resolver_add_aliases(struct resolver *resolver)
{
	resolver->with_aliases = true;
}

/* What to say of a file in that state; NULL: nothing. */
static const char *state_note(enum symbols_state state)
{
	switch (state) {
	case SYMBOLS_MISSING:
		return "cannot be read here: no names for its functions";
	case SYMBOLS_CHANGED:
		return "is no longer the file that was recorded: no names for its functions";
	default:
		return NULL;
	}
}

static void add_lacks(struct text *text, const char *path, unsigned lacks)
{
	static const struct {
		enum symbols_lack lack;
		const char *words;
	} rows[] = {
		{SYMBOLS_LACK_ZSTD, "its debug information is packed by zstd, which elfutils can't "
				    "read here (objcopy --decompress-debug-sections): no lines"},
		{SYMBOLS_LACK_SHARED, "the file that its debug information shares with others "
				      "(dwz) is missing or another one: some names are missing"},
		{SYMBOLS_LACK_SPLIT, "split debug information (.dwo, .dwp) is missing or of "
				     "another build: no inlined functions where it is"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (lacks & rows[i].lack)
			text_printf(text, "%s: %s.\n", path, rows[i].words);
}

void resolver_notes(const struct resolver *resolver, struct text *ret)
{
	for (size_t i = 0; i < resolver->met.len; i++) {
		struct met_file file = resolver->met.data[i];
		const char *note = state_note(symbols_module_state(resolver->symbols, file.module));
		/* The vdso never was a file. */
		if (note && file.path[0] == '/')
			text_printf(ret, "%s %s.\n", file.path, note);
		add_lacks(ret, file.path, symbols_module_lacks(resolver->symbols, file.module));
	}
}

struct error *resolver_create(const struct model *model, bool all_frames, struct resolver **ret)
{
	_cleanup_(resolver_cleanup) struct resolver *resolver = calloc(1, sizeof(*resolver));
	if (!resolver)
		return error_no_memory();
	arena_init(&resolver->arena);
	frame_vec_init(&resolver->shown);
	entry_vec_init(&resolver->entries);
	frame_map_init(&resolver->frames);
	place_map_init(&resolver->places);
	files_map_init(&resolver->files);
	met_vec_init(&resolver->met);
	resolver->model = model;
	resolver->all_frames = all_frames;
	resolver->by_node = calloc(model_stack_limit(model), sizeof(*resolver->by_node));
	resolver->by_module = calloc(model_module_limit(model), sizeof(*resolver->by_module));
	if (!resolver->by_node || !resolver->by_module ||
		!entry_vec_push(&resolver->entries, (struct entry){0}) ||
		!entry_vec_push(&resolver->entries, (struct entry){0}))
		return error_no_memory();
	struct error *error = take_dropped(resolver);
	if (!error)
		error = symbols_create(model_names_from(model), &resolver->symbols);
	if (error)
		return error;
	*ret = steal_ptr(resolver);
	return NULL;
}

void resolver_destroy(struct resolver *resolver)
{
	if (!resolver)
		return;
	symbols_destroy(resolver->symbols);
	pattern_destroy(resolver->drop);
	pattern_destroy(resolver->keep);
	free(resolver->by_node);
	free(resolver->by_module);
	frame_map_deinit(&resolver->frames);
	place_map_deinit(&resolver->places);
	files_map_deinit(&resolver->files);
	met_vec_deinit(&resolver->met);
	entry_vec_deinit(&resolver->entries);
	frame_vec_deinit(&resolver->shown);
	arena_deinit(&resolver->arena);
	free(resolver);
}
