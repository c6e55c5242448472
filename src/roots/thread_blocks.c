/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "roots/thread_blocks.h"

#include <elf.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "process/module_headers.h"

#define DYNAMIC_ENTRIES_MAX 512u
/* struct r_debug and struct link_map (link.h), by words. */
#define LIST_FIRST 1u
enum { LINK_BIAS, LINK_NAME, LINK_DYNAMIC, LINK_NEXT, LINK_PREVIOUS, LINK_WORDS };
/* glibc's own part of a link_map (include/link.h, since 2.4), by words: from l_tls_initimage on. So
 * far after a link_map's start it is looked for. */
enum {
	TLS_IMAGE,
	TLS_IMAGE_BYTES,
	TLS_BYTES,
	TLS_ALIGN,
	TLS_FIRST_BYTE,
	TLS_OFFSET,
	TLS_NUMBER,
	TLS_WORDS
};
/* The corresponding offsets in musl's struct dso (ldso/dynlink.c, since 1.1.0), whose first words
 * are those of a link_map: struct tls_module from `image` on, then tls_id. */
enum { MUSL_OFFSET = TLS_ALIGN + 1, MUSL_NUMBER };
#define LINK_BYTES_MAX 4096u
/* dtv_t: a number, then {memory, what free() wants} of each module, of which there are this many.
 */
#define TABLE_ENTRY 16u
#define NUMBER_MAX (1u << 16)
#define BYTES_MAX (1ull << 30)
/* aarch64: the thread pointer points to two words; what follows is aligned. */
#define ARM_HEAD_BYTES 16u

/* What is known of a module's blocks. */
struct numbered {
	uint32_t module;   /* index in the space */
	uint64_t number;   /* in threads' tables; 0: not known */
	uint64_t distance; /* of its blocks from thread pointers; 0: not known, or not the same */
};
DEFINE_VEC(numbered_vec, struct numbered)

struct finding {
	const struct address_space *space;
	struct numbered_vec modules;
	uint64_t reach; /* of thread pointers: there are blocks that were there from the start */
	bool is_musl;   /* its threads' tables are musl's: a count, then a word of each module */
	struct thread_blocks *blocks;
};

static bool is_x86_64(const struct finding *f)
{
	return f->space->machine == EM_X86_64;
}

/* The program's own block is where the linker took it to be. */
static uint64_t distance_of_program(const struct finding *f, const struct address_module *module)
{
	uint64_t align = module->tls_align & (module->tls_align - 1) ? 1 : module->tls_align;
	return align_up(is_x86_64(f) ? module->tls : ARM_HEAD_BYTES, align ? align : 1);
}

static bool add_modules(struct finding *f)
{
	const struct address_modules *modules = &f->space->modules;
	bool ok = true;
	for (size_t i = 0; i < modules->len && ok && f->modules.len < NUMBER_MAX; i++) {
		const struct address_module *module = &modules->data[i];
		if (!module->tls || module->tls > BYTES_MAX || module->tls_align > BYTES_MAX)
			continue;
		struct numbered fresh = {.module = (uint32_t)i};
		if (module->executable) {
			fresh.number = 1;
			fresh.distance = distance_of_program(f, module);
		}
		f->reach += module->tls + 2 * module->tls_align + ARM_HEAD_BYTES;
		ok = numbered_vec_push(&f->modules, fresh);
	}
	return ok;
}

/* Returns where the dynamic linker has its list; 0 if that is unknown. */
static uint64_t find_module_list(const struct finding *f, struct module_headers *headers)
{
	const struct address_module *program = NULL;
	for (size_t i = 0; i < f->space->modules.len && !program; i++) {
		if (f->space->modules.data[i].executable)
			program = &f->space->modules.data[i];
	}
	if (!program)
		return 0;
	const Elf64_Phdr *part = NULL;
	if (module_headers_in_memory(headers, f->space, program->start) ||
		(program->fd >= 0 && module_headers_in_file(headers, f->space->machine, program->fd,
					     program->start)))
		part = module_headers_part(headers, PT_DYNAMIC);
	Elf64_Dyn entry = {.d_tag = DT_NULL};
	uint64_t at = part ? program->bias + part->p_vaddr : 0;
	for (unsigned i = 0; part && i < DYNAMIC_ENTRIES_MAX; i++, at += sizeof(entry)) {
		if (address_space_read(f->space, at, &entry, sizeof(entry)) != sizeof(entry) ||
			entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_DEBUG)
			return entry.d_un.d_ptr;
	}
	return 0;
}

static bool is_block(const struct finding *f, uint64_t start, uint64_t bytes)
{
	const struct process_map *map = address_space_map(f->space, start);
	return map && map->writable && bytes <= map->end - start;
}

/* The block of a module in musl's table of a thread; 0: it has none. */
static uint64_t musl_block(
	const struct finding *f, uint64_t pointer, uint64_t number, uint64_t bytes)
{
	uint64_t table, count, start;
	if (!address_space_word(f->space, pointer + 8, &table) ||
		!address_space_word(f->space, table, &count) || count > NUMBER_MAX ||
		number > count || !address_space_word(f->space, table + 8 * number, &start))
		return 0;
	return is_block(f, start, bytes) ? start : 0;
}

/* The corresponding words of musl: the first thread's table must agree, which glibc's does not. */
static bool take_musl(struct finding *f, struct numbered *known, const uint64_t *w)
{
	const struct address_threads *threads = &f->space->threads;
	uint64_t number = w[MUSL_NUMBER];
	if (!is_x86_64(f) || !threads->len || !number || number > NUMBER_MAX)
		return false;
	uint64_t pointer = threads->data[0].thread_pointer;
	uint64_t start = musl_block(f, pointer, number, w[TLS_BYTES]);
	/* A module that was there from the start: blocks of others are in the table alone. */
	bool is_fixed = start && start == pointer - w[MUSL_OFFSET];
	if (!is_fixed && !f->is_musl)
		return false;
	f->is_musl = true;
	known->number = number;
	known->distance = is_fixed ? w[MUSL_OFFSET] : 0;
	return true;
}

/* What a link_map says of its module's thread-local memory, if it is found there. */
static void take_link(struct finding *f, uint64_t link, uint64_t bias)
{
	uint64_t words[LINK_BYTES_MAX / 8];
	size_t count = address_space_read(f->space, link, words, sizeof(words)) / 8;
	for (size_t k = 0; k < f->modules.len; k++) {
		struct numbered *known = &f->modules.data[k];
		const struct address_module *module = &f->space->modules.data[known->module];
		if (module->bias != bias)
			continue;
		for (size_t i = LINK_WORDS; i + TLS_WORDS <= count; i++) {
			const uint64_t *w = words + i;
			if (w[TLS_IMAGE] != bias + module->tls_image ||
				w[TLS_IMAGE_BYTES] != module->tls_image_bytes ||
				w[TLS_BYTES] != module->tls || w[TLS_ALIGN] != module->tls_align)
				continue;
			if (take_musl(f, known, w))
				return;
			if (!w[TLS_NUMBER] || w[TLS_NUMBER] > NUMBER_MAX)
				continue;
			known->number = w[TLS_NUMBER];
			/* Blocks that are not at a fixed place have 0 there, or -1. */
			if (w[TLS_OFFSET] && w[TLS_OFFSET] <= f->reach)
				known->distance = w[TLS_OFFSET];
			return;
		}
	}
}

/* Each says which is before it, so that none comes twice: the first one has none before it. */
static void follow_module_list(struct finding *f, uint64_t list)
{
	uint64_t at, before = 0;
	if (!list || !address_space_word(f->space, list + 8ul * LIST_FIRST, &at))
		return;
	while (at) {
		uint64_t link[LINK_WORDS];
		if (address_space_read(f->space, at, link, sizeof(link)) != sizeof(link) ||
			link[LINK_PREVIOUS] != before)
			return;
		take_link(f, at, link[LINK_BIAS]);
		before = at;
		at = link[LINK_NEXT];
	}
}

static struct error *number_modules(struct finding *f)
{
	_cleanup_free_ struct module_headers *headers = malloc(sizeof(*headers));
	if (!headers || !add_modules(f))
		return error_no_memory();
	follow_module_list(f, find_module_list(f, headers));
	return NULL;
}

/* A thread's table; 0: it has none. *ret_count: how many modules it has room for. */
static uint64_t thread_dtv(const struct finding *f, uint64_t pointer, uint64_t *ret_count)
{
	uint64_t table;
	if (!address_space_word(f->space, pointer + (is_x86_64(f) ? 8 : 0), &table) ||
		table < TABLE_ENTRY ||
		!address_space_word(f->space, table - TABLE_ENTRY, ret_count) ||
		*ret_count > NUMBER_MAX)
		return 0;
	return table;
}

static bool find_block(const struct finding *f, const struct numbered *known, uint64_t pointer,
	uint64_t table, uint64_t count, uint64_t *ret)
{
	uint64_t bytes = f->space->modules.data[known->module].tls;
	if (known->distance) {
		*ret = is_x86_64(f) ? pointer - known->distance : pointer + known->distance;
		return is_block(f, *ret, bytes);
	}
	if (f->is_musl) {
		*ret = known->number ? musl_block(f, pointer, known->number, bytes) : 0;
		return *ret;
	}
	return known->number && known->number <= count &&
	       address_space_word(f->space, table + TABLE_ENTRY * known->number, ret) &&
	       is_block(f, *ret, bytes);
}

/* Blocks below the pointer are from the start there; on aarch64 those above. */
static void extend_area(const struct finding *f, struct thread_area *area, uint64_t pointer,
	const struct thread_block *block)
{
	if (is_x86_64(f) && block->end <= pointer && pointer - block->start <= f->reach &&
		block->start < area->start)
		area->start = block->start & ~7ull;
	if (!is_x86_64(f) && block->start >= pointer && block->end - pointer <= f->reach &&
		block->end > area->end)
		area->end = block->end;
}

/* A thread pointer, and whose. */
struct pointer {
	uint64_t pointer;
	uint32_t thread;
};

static int by_pointer(const void *a, const void *b)
{
	const struct pointer *x = a, *y = b;
	if (x->pointer != y->pointer)
		return x->pointer < y->pointer ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* *ret: of each thread whether it has memory of its own, which is not that of one before it
 * (vfork(2)); to be freed. */
static bool find_owners(const struct finding *f, bool **ret)
{
	const struct address_threads *threads = &f->space->threads;
	_cleanup_free_ struct pointer *sorted = calloc(threads->len + 1, sizeof(*sorted));
	size_t len = 0;
	*ret = calloc(threads->len + 1, sizeof(**ret));
	if (!sorted || !*ret)
		return false;
	for (uint32_t i = 0; i < threads->len; i++) {
		const struct address_thread *thread = &threads->data[i];
		const struct process_map *map = address_space_map(f->space, thread->thread_pointer);
		if (thread->stopped && map && map->writable)
			sorted[len++] = (struct pointer){thread->thread_pointer, i};
	}
	qsort(sorted, len, sizeof(*sorted), by_pointer);
	for (size_t i = 0; i < len; i++)
		(*ret)[sorted[i].thread] = !i || sorted[i].pointer != sorted[i - 1].pointer;
	return true;
}

static bool add_thread_blocks(struct finding *f, uint32_t number)
{
	const struct address_thread *thread = &f->space->threads.data[number];
	uint64_t pointer = thread->thread_pointer, count = 0;
	const struct process_map *map = address_space_map(f->space, pointer);
	uint64_t table = thread_dtv(f, pointer, &count);
	struct thread_area area = {pointer & ~7ull, pointer, number};
	uint64_t after = is_x86_64(f) ? ROOTS_DESCRIPTOR_BYTES : ARM_HEAD_BYTES;
	area.end = map->end - pointer < after ? map->end : pointer + after;
	for (size_t i = 0; i < f->modules.len; i++) {
		const struct numbered *known = &f->modules.data[i];
		struct thread_block block = {.module = known->module, .thread = number};
		if (!find_block(f, known, pointer, table, count, &block.start))
			continue;
		block.end = block.start + f->space->modules.data[known->module].tls;
		extend_area(f, &area, pointer, &block);
		if (!thread_block_vec_push(&f->blocks->blocks, block))
			return false;
	}
	return thread_area_vec_push(&f->blocks->areas, area);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct thread_block *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

struct error *thread_blocks_find(const struct address_space *space, struct thread_blocks *ret)
{
	*ret = (struct thread_blocks){.blocks = {.data = NULL}};
	struct finding f = {.space = space, .blocks = ret};
	struct error *error = number_modules(&f);
	_cleanup_free_ bool *is_owner = NULL;
	bool ok = find_owners(&f, &is_owner);
	for (uint32_t i = 0; i < space->threads.len && !error && ok; i++)
		ok = !is_owner[i] || add_thread_blocks(&f, i);
	if (ret->blocks.len)
		qsort(ret->blocks.data, ret->blocks.len, sizeof(*ret->blocks.data), compare_blocks);
	numbered_vec_deinit(&f.modules);
	return error ? error : ok ? NULL : error_no_memory();
}

void thread_blocks_deinit(struct thread_blocks *blocks)
{
	thread_block_vec_deinit(&blocks->blocks);
	thread_area_vec_deinit(&blocks->areas);
}

const struct thread_block *thread_blocks_from(const struct thread_blocks *blocks, uint64_t address)
{
	size_t low = 0, high = blocks->blocks.len;
	const struct thread_block *all = blocks->blocks.data;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (all[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < blocks->blocks.len ? &all[low] : NULL;
}

const struct thread_block *thread_blocks_at(const struct thread_blocks *blocks, uint64_t address)
{
	const struct thread_block *found = thread_blocks_from(blocks, address);
	return found && found->start <= address ? found : NULL;
}

const struct thread_area *thread_blocks_area(const struct thread_blocks *blocks, uint32_t thread)
{
	size_t low = 0, high = blocks->areas.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (blocks->areas.data[middle].thread < thread)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = low < blocks->areas.len && blocks->areas.data[low].thread == thread;
	return found ? &blocks->areas.data[low] : NULL;
}
