/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/inline_plan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/attach/image.h"
#include "process/elf_file.h"
#include "process/proc_info.h"

#define FUNCTION_BYTES_MAX (1u << 20)
/* Of executable mappings that are searched for where signal handlers return to. */
#define CODE_SEARCHED_MOST (256ull << 20)
#define WINDOW_BYTES (256u << 10)

/* Names of allocators beside malloc: jemalloc's, as Rust has it too, tcmalloc's, mimalloc's. */
static const char *const prefixes[] = {"je_", "_rjem_", "rjem_", "tc_", "mi_"};
#define PREFIX_OF_MIMALLOC ((unsigned)ARRAY_SIZE(prefixes))

/* A symbol of one of the functions. */
struct found_symbol {
	unsigned function;
	unsigned prefix; /* of `prefixes`, + 1; 0: none */
	uint64_t address, bytes;
	bool is_local;
};
DEFINE_VEC(found_symbol_vec, struct found_symbol)

struct inline_search {
	const struct linked_objects *objects;
	uint64_t bias;
	struct elf_file file, debug;          /* debug: with the symbols of a file that has none */
	struct found_symbol_vec found, parts; /* parts: "NAME.cold" */
	uint64_t new_alias;                   /* of tc_new or mi_new */
	bool has_oom;                         /* of jemalloc's operators */
	bool has_failed;
	struct inline_plan *plan;
};

static bool is_of_family(unsigned function)
{
	return function <= HW_INLINE_PVALLOC;
}

static bool is_of_jemalloc(unsigned function)
{
	return function >= HW_INLINE_MALLOCX && function <= HW_INLINE_SDALLOCX;
}

static bool is_of_mimalloc(unsigned function)
{
	return function >= HW_INLINE_ZALLOC && function <= HW_INLINE_REALLOC_ALIGNED;
}

/* The function with that name without a prefix, which may be followed by `end`. */
static unsigned function_of(const char *name, const char *end)
{
	for (unsigned i = 0; i < HW_INLINE_FUNCTIONS; i++) {
		const char *known = attach_inline_name(i);
		size_t length = known ? strlen(known) : 0;
		bool is_other = i >= HW_INLINE_OTHER && i <= HW_INLINE_OTHER_LAST;
		if (known && !is_other && !strncmp(name, known, length) &&
			!strcmp(name + length, end))
			return i;
	}
	return HW_INLINE_FUNCTIONS;
}

static void note_symbol(struct inline_search *s, struct found_symbol_vec *to, const char *name,
	const char *end, struct found_symbol symbol)
{
	/* Of a dynamic program a function that only its file knows is none of an allocator's. */
	bool is_hidden = symbol.is_local && !*end && s->objects->debug;
	symbol.function = is_hidden ? HW_INLINE_FUNCTIONS : function_of(name, end);
	if (is_of_mimalloc(symbol.function)) /* without its prefix it is somebody else's */
		symbol.function = HW_INLINE_FUNCTIONS;
	for (unsigned i = 0; i < ARRAY_SIZE(prefixes) && symbol.function == HW_INLINE_FUNCTIONS;
		i++) {
		size_t length = strlen(prefixes[i]);
		if (strncmp(name, prefixes[i], length) != 0)
			continue;
		unsigned function = function_of(name + length, end);
		bool is_named = i + 1 == PREFIX_OF_MIMALLOC && is_of_mimalloc(function);
		if (!is_of_family(function) && !is_of_jemalloc(function) && !is_named)
			continue;
		symbol.function = function;
		symbol.prefix = i + 1;
	}
	if (symbol.function != HW_INLINE_FUNCTIONS && !found_symbol_vec_push(to, symbol))
		s->has_failed = true;
}

/* Nearly all functions are others. */
static bool may_count(const char *name)
{
	return strchr("mcrpavf_jtds", name[0]) != NULL;
}

static bool is_of_sanitizer(const char *name)
{
	static const char *const names[] = {
		"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init", "__lsan_init"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static bool look_at_symbol(void *context, const char *name, const Elf64_Sym *found)
{
	struct inline_search *s = context;
	struct found_symbol symbol = {
		.address = found->st_value + s->bias, .bytes = found->st_size};
	if (!may_count(name))
		return true;
	symbol.is_local = ELF64_ST_BIND(found->st_info) == STB_LOCAL;
	if (is_of_sanitizer(name))
		s->plan->has_sanitizer = true;
	if (strstr(name, "handleOOM"))
		s->has_oom = true;
	if (!strcmp(name, "tc_new") || !strcmp(name, "mi_new"))
		s->new_alias = symbol.address;
	note_symbol(s, &s->found, name, "", symbol);
	note_symbol(s, &s->parts, name, ".cold", symbol);
	return !s->has_failed;
}

/* One that only its file knows (linkers make others so in static programs, too) counts if there is
 * no other, nor another function of that name. */
static const struct found_symbol *find_symbol(
	const struct inline_search *s, unsigned function, unsigned prefix)
{
	const struct found_symbol *local = NULL;
	bool several = false;
	for (size_t i = 0; i < s->found.len; i++) {
		const struct found_symbol *symbol = &s->found.data[i];
		if (symbol->function != function || symbol->prefix != prefix)
			continue;
		if (!symbol->is_local)
			return symbol;
		several |= local && local->address != symbol->address;
		local = symbol;
	}
	return several ? NULL : local;
}

static bool is_changed_already(const struct inline_plan *plan, uint64_t address)
{
	for (size_t i = 0; i < plan->functions.len; i++) {
		const struct inline_function *known = &plan->functions.data[i];
		if (address == known->patch.address || address + 4 == known->patch.address)
			return true;
	}
	return false;
}

/* A function's code as the process has it. Returns why it can't be had, else NULL. */
static const char *read_code(
	const struct inline_search *s, const struct found_symbol *symbol, uint8_t **ret)
{
	*ret = NULL;
	if (!symbol->bytes || symbol->bytes > FUNCTION_BYTES_MAX)
		return "has a symbol that does not say where it ends";
	*ret = malloc(symbol->bytes);
	if (!*ret || process_memory_read(&s->objects->memory, symbol->address, *ret,
			     symbol->bytes) != symbol->bytes)
		return "can't be read";
	return NULL;
}

/* Whether it is in memory as in the file: another tool may have changed it, or a probe. */
static bool is_as_in_file(
	const struct inline_search *s, const struct found_symbol *symbol, const uint8_t *code)
{
	uint64_t offset, bytes = min(symbol->bytes, (uint64_t)INLINE_HEAD_BYTES);
	if (!elf_file_offset(&s->file, symbol->address - s->bias, &offset))
		return false;
	const void *there = elf_file_at(&s->file, offset, bytes);
	return there && !memcmp(there, code, bytes);
}

static const char *examine_parts(const struct inline_search *s, const struct found_symbol *symbol,
	const struct inline_patch *patch)
{
	for (size_t i = 0; i < s->parts.len; i++) {
		const struct found_symbol *part = &s->parts.data[i];
		if (part->function != symbol->function || part->prefix != symbol->prefix)
			continue;
		_cleanup_free_ uint8_t *code = NULL;
		const char *why = read_code(s, part, &code);
		if (!why)
			why = inline_patch_examine_part(code, part->bytes, part->address, patch);
		if (why)
			return why;
	}
	return NULL;
}

static const char *examine_function(
	const struct inline_search *s, const struct found_symbol *symbol, struct inline_patch *ret)
{
	_cleanup_free_ uint8_t *code = NULL;
	const char *why = read_code(s, symbol, &code);
	if (!why && !is_as_in_file(s, symbol, code))
		return "is not as in the program's file: a breakpoint, a probe (uprobe) or "
		       "another tool has changed it";
	if (!why)
		why = inline_patch_examine(code, symbol->bytes, symbol->address, ret);
	return why ? why : examine_parts(s, symbol, ret);
}

/* Adds a function. Returns why it can't be changed, else NULL. */
static const char *add_function(
	struct inline_search *s, const struct found_symbol *symbol, unsigned number)
{
	struct inline_plan *plan = s->plan;
	struct inline_function f = {.function = number};
	if (is_changed_already(plan, symbol->address))
		return NULL;
	const char *why = examine_function(s, symbol, &f.patch);
	if (why)
		return why;
	(void)process_memory_read(&s->objects->memory, f.patch.address, f.head, sizeof(f.head));
	snprintf(f.name, sizeof(f.name), "%s%s", symbol->prefix ? prefixes[symbol->prefix - 1] : "",
		attach_inline_name(number));
	uint64_t end = symbol->address + symbol->bytes;
	plan->code_start =
		plan->functions.len ? min(plan->code_start, symbol->address) : symbol->address;
	plan->code_end = end > plan->code_end ? end : plan->code_end;
	if (inline_function_vec_push(&plan->functions, f))
		return NULL;
	s->has_failed = true;
	return NULL;
}

/* Adds functions from `first` to `last` whose names have that prefix. On failure *ret_which says
 * which can't be changed, and why is returned. */
static const char *add_functions(struct inline_search *s, unsigned first, unsigned last,
	unsigned prefix, const char **ret_which)
{
	const char *why = NULL;
	for (unsigned i = first; i <= last && !why; i++) {
		const struct found_symbol *symbol = find_symbol(s, i, prefix);
		bool is_other = prefix && is_of_family(i);
		if (symbol)
			why = add_function(s, symbol, is_other ? i + HW_INLINE_OTHER : i);
		*ret_which = attach_inline_name(i);
	}
	return why;
}

/* What tells an allocator of that prefix. Of mimalloc, Rust links nothing but what is called. */
static const struct found_symbol *find_allocator(const struct inline_search *s, unsigned prefix)
{
	const struct found_symbol *found = find_symbol(s, HW_INLINE_MALLOC, prefix);
	return found || prefix != PREFIX_OF_MIMALLOC
		       ? found
		       : find_symbol(s, HW_INLINE_MALLOC_ALIGNED, prefix);
}

/* The first prefix whose functions are others than malloc; 0: there is none. */
static unsigned other_prefix(const struct inline_search *s)
{
	for (unsigned prefix = 1; prefix <= ARRAY_SIZE(prefixes); prefix++) {
		const struct found_symbol *malloc = find_allocator(s, prefix);
		if (malloc && find_symbol(s, HW_INLINE_FREE, prefix) &&
			!is_changed_already(s->plan, malloc->address))
			return prefix;
	}
	return 0;
}

static bool has_own_operators(const struct inline_search *s)
{
	const struct found_symbol *new = find_symbol(s, HW_INLINE_NEW, 0);
	const struct found_symbol *quiet =
		find_symbol(s, HW_INLINE_NEW + HW_ATTACH_NEW_NOTHROW - HW_ATTACH_NEW, 0);
	return new &&quiet && (new->address == s->new_alias || s->has_oom);
}

static bool share_address(const struct inline_search *s, unsigned one, unsigned other)
{
	const struct found_symbol *a = find_symbol(s, one, 0), *b = find_symbol(s, other, 0);
	return a && b && a->address == b->address;
}

/* Of operators new, new[], delete, delete[], malloc and free some are one function. */
static bool has_shared_kinds(const struct inline_search *s)
{
	const unsigned array = HW_ATTACH_NEW_ARRAY - HW_ATTACH_NEW;
	return share_address(s, HW_INLINE_NEW, HW_INLINE_NEW + array) ||
	       share_address(s, HW_INLINE_DELETE, HW_INLINE_DELETE + array) ||
	       share_address(s, HW_INLINE_MALLOC, HW_INLINE_NEW) ||
	       share_address(s, HW_INLINE_FREE, HW_INLINE_DELETE);
}

static struct error *add_malloc(struct inline_search *s)
{
	const char *which = NULL;
	const char *why =
		add_functions(s, HW_INLINE_MALLOC, HW_INLINE_FREE_ALIGNED_SIZED, 0, &which);
	if (!why)
		why = add_functions(s, HW_INLINE_MALLOCX, HW_INLINE_SDALLOCX, 0, &which);
	s->plan->has_operators = has_own_operators(s);
	s->plan->plain_kinds = has_shared_kinds(s);
	if (!why && s->plan->has_operators)
		why = add_functions(s, HW_INLINE_NEW, HW_INLINE_FORK - 1, 0, &which);
	return why ? error_create(ERROR_INPUT,
			     "process %d: its allocator is part of the program, and its %s can't "
			     "be "
			     "changed, as it %s",
			     (int)s->objects->pid, which, why)
		   : NULL;
}

/* What only mimalloc has. It may be malloc itself, by another name for the same functions. */
static const char *add_of_mimalloc(struct inline_search *s, const char **ret_which)
{
	const struct found_symbol *free = find_symbol(s, HW_INLINE_FREE, PREFIX_OF_MIMALLOC);
	if (!free || !is_changed_already(s->plan, free->address))
		return NULL;
	return add_functions(
		s, HW_INLINE_ZALLOC, HW_INLINE_REALLOC_ALIGNED, PREFIX_OF_MIMALLOC, ret_which);
}

/* The other allocator as a whole, or nothing of it. */
static struct error *add_other(struct inline_search *s)
{
	struct inline_plan *plan = s->plan;
	const char *which = NULL, *why = NULL;
	unsigned prefix = other_prefix(s);
	size_t before = plan->functions.len;
	plan->prefix = prefixes[(prefix ? prefix : PREFIX_OF_MIMALLOC) - 1];
	if (prefix)
		why = add_functions(s, HW_INLINE_MALLOC, HW_INLINE_PVALLOC, prefix, &which);
	if (prefix && !why)
		why = add_functions(s, HW_INLINE_MALLOCX, HW_INLINE_SDALLOCX, prefix, &which);
	if (!why)
		why = add_of_mimalloc(s, &which);
	if (!why)
		return NULL;
	plan->functions.len = before;
	return asprintf(&plan->refused, "%s%s can't be changed, as it %s", plan->prefix, which,
		       why) < 0
		       ? error_no_memory()
		       : NULL;
}

/* For handlers that fork in the middle of an event: all forks of a static program go by it. */
static void add_fork(struct inline_search *s)
{
	const struct found_symbol *symbol = find_symbol(s, HW_INLINE_FORK, 0);
	if (symbol)
		(void)add_function(s, symbol, HW_INLINE_FORK);
}

static void note_return(struct inline_plan *plan, uint64_t address)
{
	for (unsigned i = 0; i < HW_ATTACH_RETURNS; i++) {
		if (plan->signal_returns[i] == address)
			return;
		if (!plan->signal_returns[i]) {
			plan->signal_returns[i] = address;
			return;
		}
	}
}

/* mov $15, %rax; syscall: what libcs give the kernel as the handlers' return (rt_sigreturn). */
static void find_signal_returns(const struct linked_objects *objects, struct inline_plan *plan)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	_cleanup_free_ uint8_t *window = malloc(WINDOW_BYTES + sizeof(code));
	uint64_t searched = 0;
	for (size_t i = 0; window && i < objects->maps.maps.len; i++) {
		const struct process_map *map = &objects->maps.maps.data[i];
		if (!map->executable || !map->inode)
			continue;
		for (uint64_t at = map->start; at < map->end; at += WINDOW_BYTES) {
			size_t got = process_memory_read(
				&objects->memory, at, window, WINDOW_BYTES + sizeof(code) - 1);
			const uint8_t *found = window;
			while ((found = memmem(
					found, (size_t)(window + got - found), code, sizeof(code))))
				note_return(plan, at + (uint64_t)(found++ - window));
			searched += WINDOW_BYTES;
			if (searched > CODE_SEARCHED_MOST)
				return;
		}
	}
}

/* A file of the same build with the symbols that this one has not. */
static void open_debug(struct inline_search *s)
{
	uint8_t id[ELF_BUILD_ID_MAX], other[ELF_BUILD_ID_MAX];
	size_t bytes = elf_file_build_id(&s->file, id);
	char path[2 * ELF_BUILD_ID_MAX + 64] = "/usr/lib/debug/.build-id/";
	size_t length = strlen(path);
	for (size_t i = 0; i < bytes; i++)
		length += (size_t)snprintf(
			path + length, sizeof(path) - length, "%02x%s", id[i], i ? "" : "/");
	snprintf(path + length, sizeof(path) - length, ".debug");
	struct error *error = bytes < 2 ? NULL : elf_file_open(path, &s->debug);
	if (!error && s->debug.data &&
		(elf_file_build_id(&s->debug, other) != bytes || memcmp(id, other, bytes) != 0))
		elf_file_close(&s->debug);
	error_destroy(error);
}

static struct error *find_symbols(struct inline_search *s)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/exe",
		(int)process_first_live_thread(s->objects->pid));
	struct error *error = elf_file_open(path, &s->file);
	if (error)
		return error;
	elf_file_symbols(&s->file, look_at_symbol, s);
	if (!elf_file_section(&s->file, ".symtab")) {
		open_debug(s);
		if (s->debug.data)
			elf_file_symbols(&s->debug, look_at_symbol, s);
	}
	return s->has_failed ? error_no_memory() : NULL;
}

static struct error *read_program(pid_t pid, char **ret)
{
	char path[64], program[PATH_MAX];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)process_first_live_thread(pid));
	ssize_t bytes = readlink(path, program, sizeof(program) - 1);
	program[bytes > 0 ? bytes : 0] = 0;
	*ret = strdup(program);
	return *ret ? NULL : error_no_memory();
}

struct error *inline_plan_make(const struct linked_objects *objects, struct inline_plan *ret)
{
	*ret = (struct inline_plan){.functions = {.data = NULL}};
	struct inline_search s = {
		.objects = objects, .bias = objects->objects.data[0].bias, .plan = ret};
	struct error *error = read_program(objects->pid, &ret->program);
	if (!error)
		error = find_symbols(&s);
	ret->has_malloc = find_symbol(&s, HW_INLINE_MALLOC, 0);
	if (!error && ret->has_malloc)
		error = add_malloc(&s);
	if (!error)
		error = add_other(&s);
	if (!error && ret->functions.len && !objects->debug)
		add_fork(&s);
	if (!error && ret->functions.len)
		find_signal_returns(objects, ret);
	if (!error && s.has_failed)
		error = error_no_memory();
	found_symbol_vec_deinit(&s.found);
	found_symbol_vec_deinit(&s.parts);
	elf_file_close(&s.file);
	elf_file_close(&s.debug);
	return error;
}

void inline_plan_give_up(struct inline_plan *plan, struct error *error)
{
	plan->functions.len = 0;
	free(plan->refused);
	plan->refused = strdup(error->message);
	error_destroy(error);
}

void inline_plan_deinit(struct inline_plan *plan)
{
	inline_function_vec_deinit(&plan->functions);
	free(plan->program);
	free(plan->refused);
	plan->program = plan->refused = NULL;
}
