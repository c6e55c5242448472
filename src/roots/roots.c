/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "roots/roots.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "process/address_threads.h"
#include "roots/threads/main_stack.h"

#define PAGE_BYTES 4096ull
/* System V ABI, x86-64, 3.2.2: a leaf function may keep data so far below its stack pointer. */
#define RED_ZONE 128u
/* glibc, x86-64: at the thread pointer stands struct pthread, whose first and third word point to
 * itself and whose second to the thread's table of thread-local memory (dtv); the table is a block
 * that is held in its middle (sysdeps/x86_64/nptl/tls.h: tcbhead_t). On aarch64 it is before
 * the thread pointer, which points to the address of that table; thread-local memory follows. */
#define TABLE_WORD 1u
#define ARM_TABLE_WORD 0u
#define TABLE_OFFSET 16u
#define TLS_BYTES_MAX (1ull << 30)
#define PUT_AWAY_MOST (1ull << 30)
/* Registers that hold data of the program, not flags, segments or bases (sys/user.h): of x86-64 the
 * first fifteen and the stack pointer, of aarch64 all but the last. */
#define X86_DATA_REGISTERS 15u
#define X86_STACK_POINTER 19u
#define ARM_DATA_REGISTERS 33u

/* A stack of the program's making that a thread is on. */
struct foreign_stack {
	uint64_t start, end; /* at most */
	uint32_t thread;
};
DEFINE_VEC(foreign_stacks, struct foreign_stack)

/* What is being put together. */
struct finding {
	const struct roots_place *place;
	const struct address_space *space;
	struct address_ranges stacks; /* of threads that are there, whole; then joined */
	struct address_ranges taken;  /* no roots, or ones already; then joined */
	struct foreign_stacks foreign;
	struct memory_root_vec *roots;
};

/* Adds the parts of what `as` says that are excluded by no set. */
static bool add_remains(struct finding *f, const struct address_ranges *const sets[],
	size_t set_count, struct memory_root as)
{
	uint64_t start = as.start, end = as.end;
	bool ok = true;
	while (ok && start < end) {
		uint64_t stop = end;
		bool covered = false;
		for (size_t i = 0; i < set_count && !covered; i++) {
			const struct address_range *r = address_ranges_from(sets[i], start);
			if (r && start >= r->start) {
				start = r->end;
				covered = true;
			} else if (r && r->start < stop) {
				stop = r->start;
			}
		}
		if (covered)
			continue;
		as.start = start;
		as.end = stop;
		ok = memory_root_vec_push(f->roots, as);
		start = stop;
	}
	return ok;
}

static bool add_memory(struct finding *f, enum memory_root_kind kind, uint64_t start, uint64_t end,
	uint32_t thread)
{
	const struct address_ranges *const sets[] = {f->place->excluded};
	return add_remains(f, sets, 1,
		(struct memory_root){.kind = kind, .start = start, .end = end, .thread = thread});
}

static bool is_x86(const struct finding *f)
{
	return f->space->machine == EM_X86_64;
}

/* Threads' stacks usually have an inaccessible page below; of a core it may be missing. */
static bool has_guard(const struct finding *f, const struct process_map *map)
{
	const struct process_map *below = map - 1;
	if (map == f->space->maps.maps.data)
		return false;
	if (f->space->is_live)
		return below->end == map->start && !below->readable && !below->writable;
	return below->end < map->start || !below->writable;
}

/* From where a thread is described to the end of its stack, but for what fills the last page. */
static uint64_t descriptor_bytes(const struct finding *f)
{
	uint64_t sum = ROOTS_DESCRIPTOR_BYTES;
	for (size_t i = 0; !is_x86(f) && i < f->space->modules.len; i++)
		sum += f->space->modules.data[i].tls % TLS_BYTES_MAX;
	return sum;
}

static uint64_t descriptor_end(const struct finding *f, uint64_t descriptor)
{
	return (descriptor + descriptor_bytes(f) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

/* The part of a mapping, if
 * any, that is the stack of the thread whose descriptor is there: up to the end of that. */
static struct address_range stack_in(
	const struct finding *f, const struct process_map *map, uint64_t descriptor)
{
	struct address_range ret = {map->start, map->end};
	if (!main_stack_is(f->space, map) && descriptor >= map->start && descriptor < map->end)
		ret.end = min(descriptor_end(f, descriptor), map->end);
	return ret;
}

/* Where the kernel has the first thread's stack; NULL: not known. */
static const struct process_map *main_stack_map(const struct finding *f)
{
	const struct process_maps *maps = &f->space->maps;
	for (size_t i = maps->maps.len; i-- > 0;) {
		if (main_stack_is(f->space, &maps->maps.data[i]))
			return &maps->maps.data[i];
	}
	return NULL;
}

static const struct address_range no_stack = {0, 0};

/* The stack that a thread began on: the kernel's, or the one that its descriptor is in. Empty: not
 * known, or a block. */
static struct address_range usual_stack(
	const struct finding *f, const struct address_thread *thread)
{
	uint64_t pointer = thread->thread_pointer;
	if (thread->tid == f->space->owner.pid) {
		const struct process_map *map = main_stack_map(f);
		return map ? (struct address_range){map->start, map->end} : no_stack;
	}
	const struct libc_thread *known = libc_threads_by_descriptor(f->place->threads, pointer);
	const struct process_map *home = address_space_map(f->space, pointer);
	if (!pointer || address_ranges_has(f->place->heaps, pointer))
		return no_stack;
	if (known && known->start < known->end)
		return (struct address_range){known->start, known->end};
	return home && address_map_is_anonymous(home) && !main_stack_is(f->space, home)
		       ? stack_in(f, home, pointer)
		       : no_stack;
}

/* The stack that a thread is on, if it is known to be one, and not one of the program's making (a
 * coroutine's, a signal's). Else empty. */
static struct address_range present_stack(
	const struct finding *f, const struct address_thread *thread, struct address_range usual)
{
	uint64_t sp = thread->sp;
	const struct process_map *map = address_space_map(f->space, sp);
	const struct libc_thread *known = libc_threads_by_stack(f->place->threads, sp);
	if (!map || !map->writable || address_ranges_has(f->place->heaps, sp))
		return no_stack;
	if (sp >= usual.start && sp < usual.end && (known || main_stack_is(f->space, map)))
		return usual;
	if (known)
		return (struct address_range){known->start, known->end};
	if (main_stack_is(f->space, map))
		return (struct address_range){map->start, map->end};
	/* Where libc says of each of its stacks where it is, this is none. */
	return !f->place->threads->threads.len && has_guard(f, map)
		       ? stack_in(f, map, thread->thread_pointer)
		       : no_stack;
}

/* The stack pointer, and what may be in use below. */
static uint64_t stack_from(const struct finding *f, uint64_t sp, uint64_t start)
{
	uint64_t zone = is_x86(f) ? RED_ZONE : 0;
	return (sp - start > zone ? sp - zone : start) & ~7ull;
}

/* A part of a thread's stack. Thread-local storage lies at its end, but not of the first thread. */
static bool add_stack_parts(struct finding *f, uint32_t number, uint64_t from, uint64_t end)
{
	const struct thread_area *area = thread_blocks_area(f->place->blocks, number);
	if (!area || area->start < from || area->end > end || area->start >= area->end)
		return add_memory(f, MEMORY_ROOT_STACK, from, end, number);
	return add_memory(f, MEMORY_ROOT_STACK, from, area->start, number) &&
	       add_memory(f, MEMORY_ROOT_TLS, area->start, area->end, number) &&
	       add_memory(f, MEMORY_ROOT_STACK, (area->end + 7) & ~7ull, end, number);
}

static bool take_range(struct finding *f, uint64_t start, uint64_t end)
{
	return address_ranges_add(&f->taken, start, end);
}

static bool take_stack(struct finding *f, struct address_range stack)
{
	return address_ranges_add(&f->stacks, stack.start, stack.end) &&
	       take_range(f, stack.start, stack.end);
}

/* A stack of the program's making that a thread is on: nothing says where it begins and ends. In a
 * module's data, which is searched whole, it is a part of that. */
static bool note_foreign_stack(struct finding *f, uint32_t number, struct address_range usual)
{
	uint64_t sp = f->space->threads.data[number].sp;
	const struct process_map *map = address_space_map(f->space, sp);
	if (!map || !map->writable || address_space_module(f->space, sp) ||
		address_ranges_has(f->place->heaps, sp))
		return true;
	const struct foreign_stack stack = {stack_from(f, sp, map->start),
		sp >= usual.start && sp < usual.end ? usual.end : map->end, number};
	return foreign_stacks_push(&f->foreign, stack);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct foreign_stack *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

/*
 * They end where the next one or other memory that is known begins. What is below may be of
 * something else, so it stays a part of its mapping.
 */
static bool add_foreign_stacks(struct finding *f)
{
	const struct address_ranges *const sets[] = {f->place->excluded, &f->taken};
	size_t count = f->foreign.len;
	bool ok = true;
	if (count)
		qsort(f->foreign.data, count, sizeof(*f->foreign.data), compare_ranges);
	for (size_t i = 0; ok && i < count; i++) {
		const struct foreign_stack *stack = &f->foreign.data[i];
		struct memory_root as = {.kind = MEMORY_ROOT_STACK,
			.start = stack->start,
			.end = stack->end,
			.thread = stack->thread,
			.is_guess = true};
		if (i + 1 < count)
			as.end = min(as.end, stack[1].start);
		for (size_t k = 0; k < 2; k++) {
			const struct address_range *r = address_ranges_from(sets[k], as.start);
			as.end = r ? min(as.end, max(r->start, as.start)) : as.end;
		}
		ok = as.start >= as.end || memory_root_vec_push(f->roots, as);
	}
	for (size_t i = 0; ok && i < f->roots->len; i++) {
		const struct memory_root *root = &f->roots->data[i];
		ok = !root->is_guess || take_range(f, root->start, root->end);
	}
	address_ranges_join(&f->taken);
	return ok;
}

static bool add_thread_stack(struct finding *f, uint32_t number)
{
	const struct address_thread *thread = &f->space->threads.data[number];
	struct address_range usual = usual_stack(f, thread),
			     present = present_stack(f, thread, usual);
	if (present.start < present.end) {
		uint64_t from = stack_from(f, thread->sp, present.start);
		if (!add_stack_parts(f, number, from, present.end) || !take_stack(f, present))
			return false;
	} else if (!note_foreign_stack(f, number, usual)) {
		return false;
	}
	bool is_there = thread->sp >= usual.start && thread->sp < usual.end;
	if (usual.start == present.start || is_there)
		return true;
	return add_stack_parts(f, number, usual.start, usual.end) && take_stack(f, usual);
}

/* A thread's storage, unless it is a part of its stack. */
static bool add_area(struct finding *f, uint32_t number)
{
	const struct thread_area *area = thread_blocks_area(f->place->blocks, number);
	if (!area)
		return true;
	for (size_t i = f->roots->len; i-- > 0 && f->roots->data[i].thread == number;) {
		const struct memory_root *root = &f->roots->data[i];
		if (!root->value_count && root->start < area->end && root->end > area->start)
			return true;
	}
	return add_memory(f, MEMORY_ROOT_TLS, area->start & ~7ull, area->end, number) &&
	       take_range(f, area->start & ~7ull, area->end);
}

static bool add_thread_registers(struct finding *f, uint32_t number)
{
	const struct address_thread *thread = &f->space->threads.data[number];
	struct memory_root root = {.kind = MEMORY_ROOT_REGISTERS,
		.thread = number,
		.values = thread->registers,
		.value_count = is_x86(f) ? X86_DATA_REGISTERS : ARM_DATA_REGISTERS};
	if (!memory_root_vec_push(f->roots, root))
		return false;
	root.values = &thread->registers[X86_STACK_POINTER];
	root.value_count = 1;
	return !is_x86(f) || memory_root_vec_push(f->roots, root);
}

/*
 * A thread's table of thread-local memory: blocks of the loader's are held by it, and the table
 * itself is such a block, held in its middle. musl has it at the block's start.
 */
static bool add_table(struct finding *f, uint32_t number, uint64_t pointer)
{
	uint64_t at = pointer + 8ul * (is_x86(f) ? TABLE_WORD : ARM_TABLE_WORD), table;
	if (!pointer || !address_space_word(f->space, at, &table) || !table)
		return true;
	uint64_t offset = libc_thread_is_musl(f->space, pointer) ? 0 : TABLE_OFFSET;
	struct memory_root root = {.kind = MEMORY_ROOT_TLS,
		.start = at,
		.end = at + sizeof(table),
		.thread = number,
		.value_count = 1,
		.value = table - offset};
	return memory_root_vec_push(f->roots, root);
}

static bool add_thread_roots(struct finding *f, uint32_t number)
{
	const struct address_thread *thread = &f->space->threads.data[number];
	if (!thread->stopped)
		return !thread->sp || add_thread_stack(f, number);
	return add_table(f, number, thread->thread_pointer) && add_thread_registers(f, number) &&
	       add_thread_stack(f, number) && add_area(f, number);
}

/* The stack of a thread that has ended holds nothing any more, apart from the result, beside which
 * its table is held as memory holds it, until it is joined. */
static bool add_dead_stack(struct finding *f, const struct libc_thread *thread)
{
	if (thread->result_kept)
		return take_range(f, thread->start, thread->descriptor);
	return take_range(f, thread->start, thread->end) &&
	       add_table(f, MEMORY_ROOT_NO_THREAD, thread->descriptor);
}

/* Where the descriptor of a thread is that could not be stopped is unknown. */
static bool all_have_stopped(const struct finding *f)
{
	for (size_t i = 0; i < f->space->threads.len; i++) {
		if (!f->space->threads.data[i].stopped)
			return false;
	}
	return true;
}

static bool is_of_thread(const struct finding *f, uint64_t pointer)
{
	bool is = address_ranges_has(&f->stacks, pointer);
	for (size_t i = 0; !is && i < f->space->threads.len; i++)
		is = f->space->threads.data[i].thread_pointer == pointer;
	return is;
}

/*
 * Whether words may be of a thread's description. On aarch64 they are its number, 0 of one that has
 * ended, and the empty list of robust mutexes (address_threads.c); before that it is in a list
 * itself.
 */
static bool is_descriptor(const struct finding *f, const uint64_t *words, uint64_t address)
{
	if (is_x86(f))
		return words[0] == address && words[2] == address;
	uint64_t list[2], back, forth, own = address - sizeof(list);
	return !(uint32_t)words[0] && words[1] == address + 16 && words[2] == address + 16 &&
	       address_space_read(f->space, own, list, sizeof(list)) == sizeof(list) &&
	       address_space_word(f->space, list[0] + 8, &back) && back == own &&
	       address_space_word(f->space, list[1], &forth) && forth == own;
}

/* Adds the thread whose description is at an address, if it has ended, with its stack. */
static bool add_described(
	struct finding *f, uint64_t address, struct address_range stack, bool all_stopped)
{
	struct libc_thread thread = libc_thread_at(f->space, address);
	thread.start = stack.start;
	thread.end = stack.end;
	if (is_x86(f))
		return !thread.descriptor || !(thread.has_ended || all_stopped) ||
		       is_of_thread(f, thread.descriptor) || add_dead_stack(f, &thread);
	/* Whether it may still be joined is unknown: its descriptor stays. */
	uint64_t pointer = address_thread_pointer(f->space, address);
	return !pointer || is_of_thread(f, pointer) ||
	       (take_range(f, stack.start, address) && take_range(f, pointer, stack.end) &&
		       add_table(f, MEMORY_ROOT_NO_THREAD, pointer));
}

/*
 * Where libc's lists were not found, stacks of threads that have ended, which are kept for the next
 * ones, are recognised by their descriptor, which no thread has, and by the page below that allows
 * no access.
 */
static bool find_dead_in(struct finding *f, const struct process_map *map, bool all_stopped)
{
	const uint64_t portion = 64ull << 10;
	_cleanup_free_ uint64_t *words = malloc(portion);
	uint64_t start = map->start;
	bool ok = words;
	for (uint64_t at = map->start, next; ok && at < map->end; at = next) {
		size_t empty = address_space_empty(f->space, at, map->end - at) & ~15ul;
		size_t bytes = map->end - at < portion ? map->end - at : portion;
		next = at + (empty ? empty : bytes);
		if (empty)
			continue;
		size_t n = address_space_read(f->space, at, words, bytes) / 8;
		for (size_t i = 0; ok && i + 3 <= n; i += 2) {
			uint64_t address = at + 8 * i;
			if (address < start || !is_descriptor(f, words + i, address))
				continue;
			const struct address_range stack = {start, descriptor_end(f, address)};
			start = stack.end; /* a page has one at most */
			ok = add_described(f, address, stack, all_stopped);
		}
	}
	return ok;
}

static bool find_dead_stacks(struct finding *f)
{
	const struct process_maps *maps = &f->space->maps;
	const struct libc_thread_vec *threads = &f->place->threads->threads;
	bool ok = true, all_stopped = all_have_stopped(f);
	for (size_t i = 0; ok && !threads->len && i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		if (address_map_is_anonymous(map) && has_guard(f, map) &&
			!main_stack_is(f->space, map) &&
			!address_ranges_has(f->place->heaps, map->start))
			ok = find_dead_in(f, map, all_stopped);
	}
	for (size_t i = 0; ok && i < threads->len; i++) {
		const struct libc_thread *thread = &threads->data[i];
		if ((thread->has_ended || all_stopped) && thread->start < thread->end &&
			!is_of_thread(f, thread->descriptor))
			ok = add_dead_stack(f, thread);
	}
	return ok;
}

/* Whether the threads that are there are all: a core may lack some. */
static bool has_all_threads(const struct finding *f)
{
	const struct libc_thread_vec *threads = &f->place->threads->threads;
	if (f->space->is_live)
		return true;
	bool all = threads->len && !f->space->core.notes_damaged;
	for (size_t i = 0; all && i < threads->len; i++)
		all = threads->data[i].has_ended || is_of_thread(f, threads->data[i].descriptor);
	return all;
}

/* The first thread's stack, if that has ended while others go on: it has no frames any more. */
static bool add_left_main_stack(struct finding *f)
{
	const struct process_map *map = main_stack_map(f);
	bool is_there = !f->space->owner.pid || !f->space->threads.len;
	for (size_t i = 0; i < f->space->threads.len; i++)
		is_there |= f->space->threads.data[i].tid == f->space->owner.pid;
	if (is_there || !map || address_ranges_has(&f->stacks, map->start) || !has_all_threads(f))
		return true;
	uint64_t bottom = main_stack_bottom(f->space, map);
	return !bottom || take_range(f, map->start, bottom);
}

/* What the loader writes and then protects (PT_GNU_RELRO): it ends where its module's data begins.
 */
static bool is_sealed(const struct finding *f, const struct process_map *map)
{
	const struct process_maps *maps = &f->space->maps;
	const struct process_map *next = map + 1;
	const struct address_module *module = address_space_module(f->space, map->start);
	return module && map->readable && !map->writable && !map->executable && !map->shared &&
	       next < maps->maps.data + maps->maps.len && next->start == map->end &&
	       next->writable && address_space_module(f->space, next->start) == module;
}

/* Device memory is none of the program's data; /dev/zero is how some get plain memory. */
static bool is_searched(const struct finding *f, const struct process_map *map)
{
	if (is_sealed(f, map))
		return true;
	if (!map->readable || !map->writable || !strcmp(map->path, "[vvar]"))
		return false;
	return strncmp(map->path, "/dev/", 5) != 0 || !strncmp(map->path, "/dev/zero", 9) ||
	       !strncmp(map->path, "/dev/shm/", 9);
}

/*
 * Data that the program may not write now, or not even read: it takes pages away from itself and
 * gives them back, to notice accesses (garbage collectors, guards), or to keep them as they
 * are. What they hold is not lost.
 */
static bool is_inaccessible(const struct finding *f, const struct process_map *map)
{
	const struct address_module *module = address_space_module(f->space, map->start);
	if (map->writable || map->executable || map->shared)
		return false;
	return module ? map->start >= module->written : address_map_is_own(map);
}

/* How much of that is worth a look: of a core what is in it; of a process all, unless it is so
 * large that it is only kept free. */
static uint64_t put_away_end(const struct finding *f, const struct process_map *map)
{
	if (f->space->is_live)
		return map->end - map->start <= PUT_AWAY_MOST ? map->end : map->start;
	const struct core_segment *segment = core_file_segment(&f->space->core, map->start);
	uint64_t known = segment ? segment->start + segment->file_bytes : map->start;
	return known < map->start ? map->start : known < map->end ? known : map->end;
}

/* By its own name: folders on the way may be called so, too. */
static bool is_of_recorder(const char *path)
{
	static const char *const names[] = {
		"/memfd:heapwise", "/libheapwise-rt.so", "/libheapwise-lsan.so"};
	const char *base = strrchr(path, '/');
	for (size_t i = 0; base && i < ARRAY_SIZE(names); i++) {
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

bool roots_map_is_of_recorder(const struct address_space *space, const struct process_map *map)
{
	const struct address_module *module = address_space_module(space, map->start);
	const struct process_map *before = map == space->maps.maps.data ? NULL : map - 1;
	if (!*map->path && !map->inode && before && before->end == map->start && before->inode)
		map = before;
	return is_of_recorder(map->path) || (module && is_of_recorder(module->path));
}

/*
 * Where a mapping's own words begin. A module's data need not begin with a page: what the page has
 * before it is what the file has there, often unwind tables, in which two numbers side by side may
 * look like an address.
 */
static uint64_t data_start(const struct finding *f, const struct process_map *map)
{
	const struct address_module *module = address_space_module(f->space, map->start);
	for (unsigned i = 0; module && i < ADDRESS_DATA_MAX; i++) {
		uint64_t start = module->data[i] & ~7ull;
		if (start > map->start && start - map->start < PAGE_BYTES && start < map->end)
			return start;
	}
	return map->start;
}

static bool add_mappings(struct finding *f)
{
	const struct address_ranges *const sets[] = {f->place->excluded, &f->taken};
	bool ok = true;
	for (size_t i = 0; ok && i < f->space->maps.maps.len; i++) {
		const struct process_map *map = &f->space->maps.maps.data[i];
		bool data =
			address_space_module(f->space, map->start) || (map->inode && !map->shared);
		uint64_t end = map->start;
		if (roots_map_is_of_recorder(f->space, map))
			continue;
		if (is_searched(f, map))
			end = map->end;
		else if (is_inaccessible(f, map))
			end = put_away_end(f, map);
		ok = add_remains(f, sets, 2,
			(struct memory_root){.kind = data ? MEMORY_ROOT_DATA : MEMORY_ROOT_MAPPING,
				.start = end > map->start ? data_start(f, map) : map->start,
				.end = end,
				.map = map});
	}
	return ok;
}

static bool find_all_roots(struct finding *f)
{
	bool ok = true;
	for (size_t i = 0; ok && i < f->space->threads.len; i++)
		ok = add_thread_roots(f, (uint32_t)i);
	address_ranges_join(&f->stacks);
	ok = ok && find_dead_stacks(f) && add_left_main_stack(f);
	address_ranges_join(&f->taken);
	return ok && add_foreign_stacks(f) && add_mappings(f);
}

struct error *roots_find(const struct roots_place *place, struct memory_root_vec *ret)
{
	struct finding f = {.place = place, .space = place->space, .roots = ret};
	memory_root_vec_init(ret);
	bool ok = find_all_roots(&f);
	foreign_stacks_deinit(&f.foreign);
	address_ranges_deinit(&f.stacks);
	address_ranges_deinit(&f.taken);
	if (!ok)
		memory_root_vec_deinit(ret);
	return ok ? NULL : error_no_memory();
}
