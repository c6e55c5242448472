/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/address_space.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "process/address_threads.h"
#include "process/cores/core_notes.h"
#include "process/proc_info.h"
#include "process/space/address_links.h"
#include "process/space/address_modules.h"

#define X86_PC 16u
#define X86_SP 19u
#define ARM_SP 31u
#define ARM_PC 32u

static void take_pointers(uint16_t machine, struct address_thread *thread)
{
	bool x86 = machine == EM_X86_64;
	thread->pc = thread->registers[x86 ? X86_PC : ARM_PC];
	thread->sp = thread->registers[x86 ? X86_SP : ARM_SP];
}

/* A thread that could not be stopped has none in a core (core_write.c). */
static bool has_registers(const struct core_thread *thread)
{
	for (size_t i = 0; i < CORE_REGISTERS_MAX; i++) {
		if (thread->registers[i])
			return true;
	}
	return thread->thread_pointer;
}

static struct error *take_threads(struct address_space *space)
{
	for (size_t i = 0; i < space->core.threads.len; i++) {
		const struct core_thread *from = &space->core.threads.data[i];
		struct address_thread thread = {.tid = from->tid,
			.signal = i ? 0 : from->signal, /* the kernel says the same of all */
			.stopped = has_registers(from),
			.thread_pointer = from->thread_pointer};
		memcpy(thread.registers, from->registers, sizeof(thread.registers));
		take_pointers(space->machine, &thread);
		if (!address_threads_push(&space->threads, thread))
			return error_no_memory();
	}
	return NULL;
}

/* What the core says of the files that were mapped; the next one that ends after an address. */
static const struct core_mapped *mapped_from(
	const struct core_mappeds *mapped, size_t *at, uint64_t address)
{
	while (*at < mapped->len && mapped->data[*at].end <= address)
		++*at;
	return *at < mapped->len ? &mapped->data[*at] : NULL;
}

static bool add_map(struct address_space *space, uint64_t start, uint64_t end, uint32_t flags,
	const struct core_mapped *mapped)
{
	struct process_map map = {.start = start,
		.end = end,
		.readable = flags & PF_R,
		.writable = flags & PF_W,
		.executable = flags & PF_X,
		.path = ""};
	if (mapped) {
		map.path = mapped->path;
		map.inode = 1;
		map.offset = mapped->offset + (start - mapped->start);
	}
	return start >= end || process_map_vec_push(&space->maps.maps, map);
}

/* A segment may be of several mappings, of which files are known. */
static bool add_segment_map(
	struct address_space *space, const struct core_segment *segment, size_t *at)
{
	uint64_t start = segment->start;
	bool ok = true;
	while (ok && start < segment->end) {
		const struct core_mapped *m = mapped_from(&space->core.mapped, at, start);
		bool inside = m && m->start <= start;
		uint64_t end = !m ? segment->end : inside ? m->end : m->start;
		end = end < segment->end ? end : segment->end;
		ok = add_map(space, start, end, segment->flags, inside ? m : NULL);
		start = end;
	}
	return ok;
}

/* Mappings of files between two segments: the core has no segment for them at all (gcore). */
static bool add_between(struct address_space *space, uint64_t start, uint64_t end, size_t at)
{
	const struct core_mappeds *mapped = &space->core.mapped;
	bool ok = true;
	for (; ok && at < mapped->len && mapped->data[at].start < end; at++) {
		uint64_t from = mapped->data[at].start > start ? mapped->data[at].start : start;
		uint64_t to = mapped->data[at].end < end ? mapped->data[at].end : end;
		if (from < to)
			ok = add_map(space, from, to, PF_R, &mapped->data[at]);
	}
	return ok;
}

static struct error *take_maps(struct address_space *space)
{
	uint64_t before = 0;
	size_t at = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < space->core.segments.len; i++) {
		const struct core_segment *segment = &space->core.segments.data[i];
		mapped_from(&space->core.mapped, &at, before);
		ok = add_between(space, before, segment->start, at) &&
		     add_segment_map(space, segment, &at);
		before = segment->end;
	}
	return ok && add_between(space, before, UINT64_MAX, at) ? NULL : error_no_memory();
}

struct error *address_space_of_core(
	struct core_file *core, const struct address_files *files, struct address_space *ret)
{
	*ret = (struct address_space){.machine = core->machine,
		.core = *core,
		.auxv = core->auxv,
		.owner = core->owner,
		.memory = {-1, -1, -1, NULL, NULL, NULL}};
	*core = (struct core_file){.fd = -1};
	struct error *error = ret->core.mapped.len ? NULL : address_links_find(ret, files);
	if (!error)
		error = take_maps(ret);
	if (!error)
		error = take_threads(ret);
	if (!error)
		error = address_modules_find(ret, files);
	if (!error)
		error = address_threads_find(ret);
	return error;
}

static struct error *read_auxv(pid_t pid, struct core_auxv *ret)
{
	char path[64];
	uint8_t *bytes;
	size_t len;
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	struct error *error = read_file(path, 1u << 20, &bytes, &len);
	if (error)
		return error;
	core_auxv_take(ret, bytes, len);
	free(bytes);
	return NULL;
}

static struct error *take_stopped(struct address_space *space, const struct stopped *stopped)
{
	for (size_t i = 0; i < stopped->threads.len; i++) {
		const struct stopped_thread *from = &stopped->threads.data[i];
		struct address_thread thread = {
			.tid = from->tid, .signal = from->signal, .stopped = from->stopped};
		if (from->stopped) {
			memcpy(thread.registers, &from->regs, sizeof(from->regs));
			thread.thread_pointer = from->regs.fs_base;
			take_pointers(space->machine, &thread);
		}
		if (!address_threads_push(&space->threads, thread))
			return error_no_memory();
	}
	return NULL;
}

struct error *address_space_of_process(
	const struct stopped *stopped, pid_t readable, struct address_space *ret)
{
	*ret = (struct address_space){.is_live = true,
		.machine = EM_X86_64,
		.core.fd = -1,
		.memory = {-1, -1, -1, NULL, NULL, NULL}};
	core_owner_of_process(stopped->pid, &ret->owner);
	readable = process_first_live_thread(readable);
	struct error *error = process_maps_read(readable, &ret->maps);
	if (!error)
		error = process_memory_open(readable, process_first_live_thread(stopped->pid),
			&ret->maps, &ret->memory);
	if (!error)
		error = read_auxv(readable, &ret->auxv);
	if (!error)
		error = take_stopped(ret, stopped);
	return error ? error : address_modules_find(ret, NULL);
}

struct error *address_space_of_parts(pid_t readable, struct address_space *space)
{
	error_destroy(read_auxv(readable, &space->auxv));
	return address_modules_find(space, NULL);
}

void address_space_close(struct address_space *space)
{
	for (size_t i = 0; i < space->modules.len; i++) {
		if (space->modules.data[i].fd >= 0)
			close(space->modules.data[i].fd);
	}
	address_modules_deinit(&space->modules);
	address_threads_deinit(&space->threads);
	process_maps_deinit(&space->maps);
	process_memory_close(&space->memory);
	core_file_close(&space->core);
}

/* What the core has left out, from the file it was mapped from. */
static size_t read_from_file(
	const struct address_space *space, uint64_t address, void *ret, size_t bytes)
{
	const struct process_map *map = address_space_map(space, address);
	const struct address_module *module =
		map && *map->path ? address_space_module(space, address) : NULL;
	/* What the loader has written to is not as it is there (RELRO). */
	if (!module || module->fd < 0 || map->writable || address >= module->written ||
		strcmp(module->path, map->path) != 0)
		return 0;
	size_t here = map->end - address < bytes ? (size_t)(map->end - address) : bytes;
	ssize_t n = pread(module->fd, ret, here, (off_t)(map->offset + (address - map->start)));
	if (n < 0)
		return 0;
	/* After the end of the file the page is zero. */
	size_t page_end = ((size_t)n + 4095) & ~(size_t)4095, got = (size_t)n;
	if (got && got < here) {
		size_t more = page_end < here ? page_end : here;
		memset((char *)ret + got, 0, more - got);
		got = more;
	}
	return got;
}

size_t address_space_read(
	const struct address_space *space, uint64_t address, void *ret, size_t bytes)
{
	if (space->is_live)
		return process_memory_read(&space->memory, address, ret, bytes);
	size_t got = 0;
	while (got < bytes) {
		size_t n =
			core_file_read(&space->core, address + got, (char *)ret + got, bytes - got);
		if (!n)
			n = read_from_file(space, address + got, (char *)ret + got, bytes - got);
		if (!n)
			break;
		got += n;
	}
	return got;
}

size_t address_space_untouched(const struct address_space *space, uint64_t address, size_t bytes)
{
	return space->is_live ? process_memory_untouched(&space->memory, address, bytes)
			      : core_file_hole(&space->core, address, bytes);
}

/* Where what is read in its file's stead begins, or a mapping ends: up to there nothing is known.
 */
static uint64_t absent_until(const struct address_space *space, uint64_t address)
{
	const struct process_map *map = address_space_map(space, address);
	const struct core_segment *segment = core_file_segment(&space->core, address);
	uint8_t byte;
	if (!map || address_space_read(space, address, &byte, 1))
		return address;
	if (segment && segment->end < map->end)
		return segment->end;
	return map->end;
}

size_t address_space_empty(const struct address_space *space, uint64_t address, size_t bytes)
{
	size_t untouched = address_space_untouched(space, address, bytes);
	if (untouched || space->is_live)
		return untouched;
	uint64_t absent = absent_until(space, address) - address;
	return absent < bytes ? (size_t)absent : bytes;
}

uint64_t address_space_next(const struct address_space *space, uint64_t at, uint64_t end)
{
	while (!space->is_live && at < end) {
		size_t empty = address_space_empty(space, at, end - at);
		if (!empty)
			break;
		at += empty;
	}
	return at < end ? at : end;
}

uint64_t address_space_absent(const struct address_space *space, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;
	const struct process_maps *maps = &space->maps;
	const struct process_map *map = process_maps_find(maps, start);
	for (; map && map < maps->maps.data + maps->maps.len && map->start < end; map++) {
		uint64_t from = map->start > start ? map->start : start;
		uint64_t to = map->end < end ? map->end : end;
		const struct core_segment *segment = core_file_segment(&space->core, from);
		uint64_t known = segment ? segment->start + segment->file_bytes : from;
		uint8_t byte;
		known = known > from ? known : from;
		if (!space->is_live && known < to && !address_space_read(space, known, &byte, 1))
			sum += to - known;
	}
	return sum;
}

bool address_space_lacks_private(const struct address_space *space)
{
	size_t stacks = 0;
	for (size_t i = 0; i < space->threads.len && !space->is_live; i++) {
		const struct core_segment *stack =
			core_file_segment(&space->core, space->threads.data[i].sp);
		if (stack && stack->file_bytes)
			return false;
		stacks += stack != NULL;
	}
	return stacks && !space->core.missing_bytes;
}

uint64_t address_space_joined_start(const struct address_space *space, uint64_t address)
{
	const struct process_map *map = address_space_map(space, address);
	if (!map)
		return address;
	while (map > space->maps.maps.data && map[-1].end == map->start &&
		(map[-1].writable || address_map_is_own(&map[-1])))
		map--;
	return map->start;
}

bool address_space_word(const struct address_space *space, uint64_t address, uint64_t *ret)
{
	return address_space_read(space, address, ret, sizeof(*ret)) == sizeof(*ret);
}

bool address_space_string(
	const struct address_space *space, uint64_t address, char *ret, size_t room)
{
	size_t n = address_space_read(space, address, ret, room);
	return memchr(ret, 0, n);
}

const struct address_module *address_space_module(
	const struct address_space *space, uint64_t address)
{
	size_t low = 0, high = space->modules.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (space->modules.data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct address_module *found = space->modules.data + low;
	return low < space->modules.len && address >= found->start ? found : NULL;
}

bool address_map_is_anonymous(const struct process_map *map)
{
	return map->readable && map->writable && address_map_is_own(map);
}

bool address_map_is_own(const struct process_map *map)
{
	return !map->shared && !map->inode &&
	       (!*map->path || !strcmp(map->path, "[heap]") || !strncmp(map->path, "[anon", 5));
}
