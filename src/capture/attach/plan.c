/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/plan.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/util.h"
#include "capture/attach/filters.h"
#include "capture/attach/image.h"
#include "capture/shared_memory.h"
#include "format/shm.h"
#include "process/proc_info.h"

#define STATUS_BYTES 16384
/* Of memory that is not shared: the image, the threads' table, rings' private parts. */
#define OWN_BYTES_ROOM (64ull << 20)

/* The number after a name in /proc/PID/status; -1: it is not there. */
static long status_number(const char *status, const char *name)
{
	const char *line = strstr(status, name);
	return line ? strtol(line + strlen(name), NULL, 10) : -1;
}

/* The limit of the address space (ulimit -v) in bytes; UINT64_MAX: none, or not known. */
static uint64_t address_space_limit(pid_t pid)
{
	static const char name[] = "Max address space";
	char *limits;
	size_t bytes;
	struct error *error = process_read(pid, "limits", STATUS_BYTES, &limits, &bytes);
	if (error) {
		error_destroy(error);
		return UINT64_MAX;
	}
	const char *line = strstr(limits, name);
	char *end = NULL;
	uint64_t limit = line ? strtoull(line + strlen(name), &end, 10) : 0;
	bool known = line && end != line + strlen(name);
	free(limits);
	return known ? limit : UINT64_MAX;
}

static struct error *check_room(pid_t pid, const char *status)
{
	uint64_t limit = address_space_limit(pid), needed = HW_SHM_BYTES + OWN_BYTES_ROOM;
	long used = status_number(status, "\nVmSize:"); /* KiB */
	if (limit == UINT64_MAX || used < 0 || ((uint64_t)used << 10) + needed <= limit)
		return NULL;
	return error_create(ERROR_ENVIRONMENT,
		"process %d may have %llu MiB of address space (ulimit -v) and uses %ld MiB; "
		"recording it "
		"takes %llu MiB more. Raise the limit: prlimit --pid %d --as=%llu:",
		(int)pid, (unsigned long long)limit >> 20, used >> 10,
		(unsigned long long)needed >> 20, (int)pid,
		((unsigned long long)used << 10) + needed);
}

static struct error *check_status(struct attach_plan *plan)
{
	char *status;
	size_t bytes;
	struct error *error = process_read(plan->pid, "status", STATUS_BYTES, &status, &bytes);
	if (error)
		return error;
	error = check_room(plan->pid, status);
	if (error) {
		free(status);
		return error;
	}
	long locked = status_number(status, "\nVmLck:");
	plan->threads = (unsigned)status_number(status, "\nThreads:");
	free(status);
	if (locked > 0)
		return error_create(ERROR_ENVIRONMENT,
			"process %d has %ld KiB of its memory locked (mlockall?): the kernel would "
			"make all that is mapped for it at once, some 480 MiB; start it under "
			"`heapwise run`",
			(int)plan->pid, locked);
	int filtered = attach_is_filtered(plan->pid);
	plan->is_filtered = filtered > 0;
	if (filtered < 0)
		return error_create(ERROR_ENVIRONMENT,
			"process %d has restricted itself to a few system calls (seccomp, strict "
			"mode), "
			"and any other kills it; start it under `heapwise run`, which goes on "
			"under filters",
			(int)plan->pid);
	return NULL;
}

static bool has_map(const struct attach_plan *plan, const char *name)
{
	const struct process_map_vec *maps = &plan->objects.maps.maps;
	for (size_t i = 0; i < maps->len; i++) {
		if (strstr(maps->data[i].path, name))
			return true;
	}
	return false;
}

/* An image alone is one of an earlier time. */
static struct error *check_maps(struct attach_plan *plan)
{
	int pid = (int)plan->pid;
	bool has_rings = has_map(plan, SHARED_MEMORY_PREFIX);
	plan->is_recorded = has_rings || has_map(plan, "/libheapwise-");
	if (has_rings && has_map(plan, "/memfd:" HW_ATTACH_NAME))
		return error_create(ERROR_ENVIRONMENT,
			"process %d is attached already; `heapwise detach %d` ends that", pid, pid);
	if (plan->is_recorded)
		return error_create(ERROR_ENVIRONMENT,
			"process %d is recorded already, since it was started; see `heapwise ctl "
			"%d "
			"status`",
			pid, pid);
	return NULL;
}

static bool is_named(const char *path, const char *start)
{
	return !strncmp(path_last_part(path), start, strlen(start));
}

static bool is_libc(const struct linked_object *object)
{
	return is_named(object->path, "libc.so") || is_named(object->path, "libc-") ||
	       is_named(object->path, "ld-musl");
}

/* Before glibc 2.34 some of its functions were apart. */
static bool is_of_libc(const struct linked_object *object)
{
	return is_libc(object) || is_named(object->path, "libdl.so") ||
	       is_named(object->path, "libdl-") || is_named(object->path, "libpthread.so") ||
	       is_named(object->path, "libpthread-");
}

static bool is_cxx_library(const struct linked_object *object)
{
	return is_named(object->path, "libstdc++.so") || is_named(object->path, "libc++");
}

static bool is_sanitizer(const char *path)
{
	static const char *const names[] = {
		"libasan.so", "libtsan.so", "libhwasan.so", "liblsan.so", "libclang_rt."};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (is_named(path, names[i]))
			return true;
	}
	return false;
}

static struct error *check_allocator(
	const struct attach_plan *plan, const struct linked_object *allocator)
{
	if (!allocator)
		return error_create(ERROR_INPUT,
			"process %d has no malloc: nothing in it allocates by a function of libc",
			(int)plan->pid);
	if (is_sanitizer(allocator->path))
		return error_create(ERROR_INPUT,
			"process %d runs under a sanitizer, whose allocator (%s) is not recorded",
			(int)plan->pid, allocator->path);
	return NULL;
}

/* Of malloc's object or libc's: others could not be mixed with it. */
static bool is_usable(const struct linked_object *object, const struct linked_object *allocator)
{
	return object == allocator || is_of_libc(object);
}

static void find_operators(struct attach_plan *plan, const struct linked_object *allocator)
{
	const struct linked_object *object = NULL;
	bool has = linked_function(&plan->objects, "_Znwm", &object);
	bool plain = !has || is_cxx_library(object);
	bool own = has && object == allocator;
	plan->operators = plain ? HW_ATTACH_OPERATORS_PLAIN : HW_ATTACH_OPERATORS_OWN;
	/* A program's own operators call malloc, by a slot, or have memory of their own. */
	for (unsigned i = HW_ATTACH_NEW; i < HW_ATTACH_FORK && (plain || own); i++) {
		uint64_t address =
			linked_function(&plan->objects, attach_function_names[i], &object);
		if (address && (own ? object == allocator : is_cxx_library(object)))
			plan->real[i] = address;
	}
}

/* A libc whose functions call each other by references that are changed, too: musl's. */
static void find_inner(struct attach_plan *plan, const struct linked_object *allocator)
{
	static const char *const names[] = {
		"calloc", "posix_memalign", "memalign", "valloc", "reallocarray"};
	static_assert(ARRAY_SIZE(names) <= ARRAY_SIZE(plan->inner), "each has its place");
	for (size_t i = 0; allocator->is_linker && i < ARRAY_SIZE(names); i++) {
		struct hw_attach_range *range = &plan->inner[plan->inner_count];
		plan->inner_count +=
			linked_function_range(allocator, names[i], &range->start, &range->end);
	}
}

static bool is_static(const struct attach_plan *plan)
{
	return !plan->objects.debug;
}

/* Of a program that defines malloc itself. */
static struct error *check_own(const struct attach_plan *plan)
{
	const struct inline_plan *inlined = &plan->inlined;
	int pid = (int)plan->pid;
	if (inlined->has_sanitizer)
		return error_create(ERROR_INPUT,
			"process %d runs under a sanitizer, whose allocator is not recorded", pid);
	if (inlined->has_malloc)
		return NULL;
	return error_create(ERROR_INPUT,
		"process %d: %s, and its file (%s) has no symbol that says where malloc is "
		"(stripped?), so neither `attach` nor `watch` can find its calls. A file of its "
		"symbols in /usr/lib/debug/.build-id helps; `heapwise heap %d` does without",
		pid,
		is_static(plan) ? "it runs a statically linked program"
				: "the program defines malloc itself",
		inlined->program ? inlined->program : "?", pid);
}

/* References to it may be those of libraries, too: they all lead to the function. */
static void find_functions_of_libc(struct attach_plan *plan, unsigned first)
{
	const struct linked_object *object = NULL;
	for (unsigned i = first; i < HW_ATTACH_FUNCTIONS; i++) {
		uint64_t address =
			linked_function(&plan->objects, attach_function_names[i], &object);
		plan->real[i] = address && is_of_libc(object) ? address : 0;
	}
	/* glibc before 2.35 and musl have none. */
	plan->find_object = linked_function(&plan->objects, "_dl_find_object", NULL);
}

static struct error *find_own_functions(struct attach_plan *plan)
{
	struct error *error = check_own(plan);
	const struct linked_object *object = NULL;
	if (error)
		return error;
	plan->allocator = plan->inlined.program;
	find_functions_of_libc(plan, HW_ATTACH_FORK);
	uint64_t dlclose = linked_function(&plan->objects, "dlclose", &object);
	plan->real[HW_ATTACH_DLCLOSE] = dlclose && is_of_libc(object) ? dlclose : 0;
	return NULL;
}

static struct error *find_functions(struct attach_plan *plan)
{
	const struct linked_object *allocator = NULL, *object = NULL;
	(void)linked_function(&plan->objects, "malloc", &allocator);
	struct error *error = inline_plan_make(&plan->objects, &plan->inlined);
	if (is_static(plan) || allocator == plan->objects.objects.data)
		return error ? error : find_own_functions(plan);
	if (error)
		inline_plan_give_up(&plan->inlined, error);
	error = check_allocator(plan, allocator);
	if (error)
		return error;
	plan->allocator = allocator->path;
	for (unsigned i = 0; i < HW_ATTACH_NEW; i++) {
		uint64_t address =
			linked_function(&plan->objects, attach_function_names[i], &object);
		if (address && is_usable(object, allocator))
			plan->real[i] = address;
		else if (address || i == HW_ATTACH_FREE || i == HW_ATTACH_REALLOC ||
			 i == HW_ATTACH_CALLOC)
			return error_create(ERROR_INPUT,
				"process %d has malloc from %s, but %s %s%s: which calls belong "
				"together is not known",
				(int)plan->pid, allocator->path, attach_function_names[i],
				address ? "from " : "is nowhere", address ? object->path : "");
	}
	find_operators(plan, allocator);
	find_functions_of_libc(plan, HW_ATTACH_FORK);
	find_inner(plan, allocator);
	return NULL;
}

static struct error *list_objects(struct attach_plan *plan)
{
	return plan->find_object ? NULL : attach_objects_list(&plan->objects, &plan->table);
}

/* Of a program that has none in its own table; if its file can't be read stacks end in it. */
static struct error *find_frames(struct attach_plan *plan)
{
	char path[64];
	struct elf_file file;
	if (!is_static(plan) || !plan->table.len || plan->table.data[0].row.eh_frame_hdr)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)process_first_live_thread(plan->pid));
	struct error *error = elf_file_open(path, &file);
	const Elf64_Shdr *section = error ? NULL : elf_file_section(&file, ".eh_frame");
	bool ok = !section || frame_entries_read(&file, section, plan->objects.objects.data[0].bias,
				      &plan->frames);
	error_destroy(error);
	elf_file_close(&file);
	return ok ? NULL : error_no_memory();
}

/* The linker calls malloc under its own lock; an allocator calls itself for its own sake. musl's
 * linker and libc are one, and as linker that calls no public function. */
static bool is_left_alone(const struct attach_plan *plan, const struct linked_object *object)
{
	return (object->is_linker && !is_libc(object)) ||
	       (!strcmp(object->path, plan->allocator) && !is_libc(object));
}

/* Whether a word that leads elsewhere is one through which something is allocated or freed. Those
 * that lead to hooks are changed already; those of an object that is being loaded lead nowhere. */
static bool is_left(const struct attach_plan *plan, const struct linked_slot *slot)
{
	const struct process_map *map = process_maps_find(&plan->objects.maps, slot->value);
	bool is_hook = slot->value >= plan->image && slot->value < plan->image_end;
	return map && map->executable && !is_hook && slot->function < HW_ATTACH_FORK &&
	       slot->function != HW_ATTACH_DLCLOSE;
}

static void count_left(struct attach_plan *plan, const struct linked_slot_vec *others)
{
	for (size_t i = 0; i < others->len; i++)
		plan->other += is_left(plan, &others->data[i]);
}

static struct error *find_slots_of(struct attach_plan *plan, const struct linked_object *object)
{
	struct linked_slot_vec others = {.data = NULL};
	struct error *error = linked_slots(&plan->objects, object, attach_function_names,
		plan->real, HW_ATTACH_FUNCTIONS, &plan->slots, &others);
	count_left(plan, &others);
	linked_slot_vec_deinit(&others);
	return error;
}

static struct error *find_slots(struct attach_plan *plan)
{
	for (size_t i = 0; i < plan->objects.objects.len; i++) {
		const struct linked_object *object = &plan->objects.objects.data[i];
		size_t before = plan->slots.len;
		if (is_left_alone(plan, object))
			continue;
		struct error *error = find_slots_of(plan, object);
		if (error)
			return error;
		if (plan->slots.len == before)
			continue;
		plan->changed_objects++;
		if (!attach_address_vec_push(&plan->changed, object->dynamic))
			return error_no_memory();
	}
	for (size_t i = 0; i < plan->slots.len; i++)
		plan->has_lazy |= plan->slots.data[i].is_lazy;
	if (plan->slots.len > HW_ATTACH_SLOTS_MAX)
		return error_create(ERROR_INPUT,
			"process %d has %zu references to functions of its allocator, more than "
			"the "
			"%u that can be changed",
			(int)plan->pid, plan->slots.len, HW_ATTACH_SLOTS_MAX);
	if (!plan->slots.len && !plan->inlined.functions.len &&
		has_map(plan, "/memfd:" HW_ATTACH_NAME))
		return error_create(ERROR_INPUT,
			"process %d was forked by an attached process and has its hooks still: "
			"`attach` "
			"puts them back first, as `heapwise detach %d` does",
			(int)plan->pid, (int)plan->pid);
	if (!plan->slots.len && !plan->inlined.functions.len)
		return error_create(ERROR_INPUT,
			"process %d: nothing in it calls functions of %s through a table that "
			"could "
			"be changed",
			(int)plan->pid, plan->allocator);
	return NULL;
}

/* Another command may have changed it while it was examined: that is the reason then. */
static struct error *explain_slots(struct attach_plan *plan, struct error *error)
{
	struct process_maps maps;
	struct error *other = process_maps_read(process_first_live_thread(plan->pid), &maps);
	if (!other) {
		process_maps_deinit(&plan->objects.maps);
		plan->objects.maps = maps;
		other = check_maps(plan);
	}
	if (!other)
		return error;
	error_destroy(error);
	return other;
}

struct error *attach_plan_make(pid_t pid, struct attach_plan *ret)
{
	*ret = (struct attach_plan){.pid = pid, .objects.memory = {-1, -1, -1, NULL, NULL, NULL}};
	if (kill(pid, 0) && errno == ESRCH)
		return error_create(ERROR_INPUT, "no such process: %d", (int)pid);
	struct error *error = check_status(ret);
	if (!error) {
		error = linked_objects_read(pid, &ret->objects);
		if (error && !ret->objects.maps.text)
			error = error_prefix(error,
				"process %d can't be attached (run as root, or as its user)",
				(int)pid);
	}
	if (!error)
		error = check_maps(ret);
	if (!error)
		error = find_functions(ret);
	if (!error)
		error = list_objects(ret);
	if (!error)
		error = find_frames(ret);
	if (error)
		return error;
	error = find_slots(ret);
	return error ? explain_slots(ret, error) : NULL;
}

struct error *attach_plan_renew(const struct attach_plan *before, struct attach_plan *ret)
{
	*ret = (struct attach_plan){.pid = before->pid,
		.operators = before->operators,
		.allocator = before->allocator,
		.find_object = before->find_object,
		.image = before->image,
		.image_end = before->image_end,
		.objects.memory = {-1, -1, -1, NULL, NULL, NULL}};
	memcpy(ret->real, before->real, sizeof(ret->real));
	struct error *error = linked_objects_read(before->pid, &ret->objects);
	if (!error)
		error = list_objects(ret);
	if (!error)
		error = find_slots(ret);
	return error;
}

void attach_plan_deinit(struct attach_plan *plan)
{
	linked_slot_vec_deinit(&plan->slots);
	attach_object_vec_deinit(&plan->table);
	inline_plan_deinit(&plan->inlined);
	frame_entry_vec_deinit(&plan->frames);
	attach_address_vec_deinit(&plan->changed);
	linked_objects_deinit(&plan->objects);
}
