/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/types/system_types.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/types/recognisers.h"

enum {
	SYSTEM_FILE,
	SYSTEM_FILE_BUFFER,
	SYSTEM_DIR,
	SYSTEM_DTV,
	SYSTEM_TLS,
	SYSTEM_LIBRARY,
	SYSTEM_LIBRARY_NAME,
	SYSTEM_MAPPINGS,
	SYSTEM_TYPES,
	SYSTEM_NONE = SYSTEM_TYPES
};

static const char *const type_names[SYSTEM_TYPES] = {[SYSTEM_FILE] = "FILE",
	[SYSTEM_FILE_BUFFER] = "FILE buffer",
	[SYSTEM_DIR] = "DIR",
	[SYSTEM_DTV] = "dtv",
	[SYSTEM_TLS] = "thread-local memory",
	[SYSTEM_LIBRARY] = "link_map",
	[SYSTEM_LIBRARY_NAME] = "link_map name",
	[SYSTEM_MAPPINGS] = "loaded mappings"};

/* struct _IO_FILE, in words: what is asked for, with the table of functions after it. */
#define FILE_MAGIC 0xfbad0000ul
#define FILE_BUFFER 7u
#define FILE_BUFFER_END 8u
#define FILE_LOCK 17u
#define FILE_TABLE 27u
#define FILE_WORDS 28u
#define FILE_BYTES_MAX 1024u
/* struct __dirstream. */
#define DIR_HEAD 48u
#define DIR_SPARE 64u
#define DIR_BYTES_MAX (1u << 20)
/* struct link_map: its name, its dynamic section, itself. */
#define MAP_NAME 1u
#define MAP_DYNAMIC 2u
#define MAP_SELF 5u
#define MAP_WORDS 6u
#define MAP_BYTES_MIN 600u
#define MAP_BYTES_MAX 8192u
/* dtv_t: a length, a generation, then {memory, what free() wants} of each module. */
#define DTV_ENTRY 16u
#define DTV_MODULES_MAX (1u << 16)
/* struct dlfo_mappings_segment (elf/dl-find_object.c, since 2.35), in words: the one before it,
 * what free() wants, how many mappings there are and may be, then four words for each. The loader
 * aligns it itself, at most so far after what it got. */
enum { MAPPINGS_BEFORE, MAPPINGS_BLOCK, MAPPINGS_USED, MAPPINGS_ROOM, MAPPINGS_WORDS };
#define MAPPING_BYTES 32u
#define MAPPINGS_ALIGN 64u
#define MAPPINGS_LEAD_MAX 256u

struct assigner {
	struct heap_scan *scan;
	const struct address_space *space;
	uint32_t types[SYSTEM_TYPES];
};

/* The block that starts there is of that type, if nothing else is known of it. */
static void system_types_assign(struct assigner *w, uint64_t address, unsigned type)
{
	struct heap_scan *s = w->scan;
	uint64_t offset;
	uint32_t block = address ? search_block_at(s->search, address, &offset) : SPACE_NONE;
	if (block == SPACE_NONE || offset)
		return;
	struct block_label label = block_label(s->search, block);
	if (heap_types_of_label(&s->types, label) == HEAP_TYPE_NONE)
		block_set_label(s->search, block, heap_types_label(&s->types, w->types[type]));
}

static bool is_in_module(const struct assigner *w, uint64_t address, bool writable)
{
	const struct process_map *map = address_space_map(w->space, address);
	return map && map->writable == writable && address_space_module(w->space, address);
}

static bool is_file(const struct assigner *w, const uint64_t words[static FILE_WORDS])
{
	/* The flags are an int; what follows it is padding. */
	return (words[0] & 0xffff0000ul) == FILE_MAGIC && words[FILE_LOCK] % 8 == 0 &&
	       address_space_map(w->space, words[FILE_LOCK]) &&
	       words[FILE_BUFFER] <= words[FILE_BUFFER_END] &&
	       is_in_module(w, words[FILE_TABLE], false);
}

static void assign_buffer(struct assigner *w, const uint64_t words[static FILE_WORDS])
{
	uint64_t bytes = words[FILE_BUFFER_END] - words[FILE_BUFFER], offset;
	uint32_t block = words[FILE_BUFFER] && bytes
				 ? search_block_at(w->scan->search, words[FILE_BUFFER], &offset)
				 : SPACE_NONE;
	/* What setvbuf() was given is the program's own. */
	if (block != SPACE_NONE && bytes % 512 == 0 &&
		bytes <= search_block_size(w->scan->search, block))
		system_types_assign(w, words[FILE_BUFFER], SYSTEM_FILE_BUFFER);
}

static bool is_dir(const struct assigner *w, uint64_t address, uint64_t size)
{
	uint64_t words[4]; /* descriptor and lock, allocation, size, offset */
	if (address_space_read(w->space, address, words, sizeof(words)) != sizeof(words))
		return false;
	return words[1] >= 4096 && words[1] % 4096 == 0 && words[1] + DIR_HEAD <= size &&
	       size < words[1] + DIR_HEAD + DIR_SPARE && words[2] <= words[1] &&
	       words[3] <= words[2] && (uint32_t)words[0] < 1u << 24;
}

static bool system_types_is_library(const struct assigner *w, uint64_t address, uint64_t *ret_name)
{
	uint64_t words[MAP_WORDS];
	if (address_space_read(w->space, address, words, sizeof(words)) != sizeof(words))
		return false;
	*ret_name = words[MAP_NAME];
	return words[MAP_SELF] == address && address_space_map(w->space, words[MAP_NAME]) &&
	       address_space_map(w->space, words[MAP_DYNAMIC]) &&
	       !heap_areas_find(&w->scan->heap.areas, words[MAP_DYNAMIC]);
}

/* What blocks of a class may be, by its size and pointers. */
static unsigned system_types_guess(const struct heap_shape *class)
{
	uint64_t size = class->key.size, pointers = class->key.pointers;
	if (size >= 8ul * FILE_WORDS && size <= FILE_BYTES_MAX && pointers >> FILE_TABLE & 1 &&
		pointers >> FILE_LOCK & 1)
		return SYSTEM_FILE;
	if (size >= MAP_BYTES_MIN && size <= MAP_BYTES_MAX && pointers >> MAP_SELF & 1 &&
		pointers >> MAP_DYNAMIC & 1)
		return SYSTEM_LIBRARY;
	if (size >= 4096 + DIR_HEAD && size <= DIR_BYTES_MAX && !(pointers & 0x1f))
		return SYSTEM_DIR;
	return SYSTEM_NONE;
}

static void look_at_block(struct assigner *w, uint64_t address, uint64_t size, unsigned type)
{
	uint64_t words[FILE_WORDS], name;
	if (type == SYSTEM_DIR && is_dir(w, address, size)) {
		system_types_assign(w, address, SYSTEM_DIR);
	} else if (type == SYSTEM_LIBRARY && system_types_is_library(w, address, &name)) {
		system_types_assign(w, address, SYSTEM_LIBRARY);
		system_types_assign(w, name, SYSTEM_LIBRARY_NAME);
	} else if (type == SYSTEM_FILE &&
		   address_space_read(w->space, address, words, sizeof(words)) == sizeof(words) &&
		   is_file(w, words)) {
		system_types_assign(w, address, SYSTEM_FILE);
		assign_buffer(w, words);
	}
}

static struct error *look_at_blocks(struct assigner *w)
{
	struct heap_scan *s = w->scan;
	size_t count = s->types.shape_count;
	_cleanup_free_ uint8_t *guesses = malloc(count + 1);
	bool any = false;
	if (!guesses)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		guesses[i] = (uint8_t)system_types_guess(&s->classes.classes.data[i]);
		any |= guesses[i] != SYSTEM_NONE;
	}
	uint32_t blocks = any ? search_block_count(s->search) : 0;
	for (uint32_t i = 0; i < blocks; i++) {
		uint32_t class = heap_types_shape(&s->types, block_label(s->search, i));
		if (class != HEAP_SHAPE_NONE && guesses[class] != SYSTEM_NONE)
			look_at_block(w, search_block_address(s->search, i),
				search_block_size(s->search, i), guesses[class]);
	}
	return NULL;
}

/* The dynamic linker's tables of what is mapped, from the newest on: each is held by a pointer
 * after the start of its block. */
static void look_at_mappings(struct assigner *w, uint64_t at)
{
	while (at && at % MAPPINGS_ALIGN == 0) {
		uint64_t words[MAPPINGS_WORDS], offset;
		uint32_t block = search_block_at(w->scan->search, at, &offset);
		if (block == SPACE_NONE || offset >= MAPPINGS_LEAD_MAX ||
			address_space_read(w->space, at, words, sizeof(words)) != sizeof(words) ||
			words[MAPPINGS_BLOCK] != at - offset ||
			words[MAPPINGS_USED] > words[MAPPINGS_ROOM])
			return;
		uint64_t size = search_block_size(w->scan->search, block) - offset;
		uint64_t room = size < sizeof(words) ? 0 : (size - sizeof(words)) / MAPPING_BYTES;
		if (!words[MAPPINGS_ROOM] || words[MAPPINGS_ROOM] > room ||
			room - words[MAPPINGS_ROOM] > MAPPINGS_LEAD_MAX / MAPPING_BYTES)
			return;
		system_types_assign(w, words[MAPPINGS_BLOCK], SYSTEM_MAPPINGS);
		/* A ring is damage: an older table is smaller. */
		if (words[MAPPINGS_BEFORE] == at)
			return;
		at = words[MAPPINGS_BEFORE];
	}
}

static bool is_loader(const struct address_module *module)
{
	const char *slash = strrchr(module->path, '/');
	const char *name = slash ? slash + 1 : module->path;
	return strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0;
}

/* Streams that modules have, and the loader's tables: what they point to are blocks. */
static struct error *look_at_data(struct assigner *w)
{
	const size_t piece_words = 8192;
	_cleanup_free_ uint64_t *words = malloc(8 * (piece_words + FILE_WORDS));
	if (!words)
		return error_no_memory();
	for (size_t i = 0; i < w->scan->roots.len; i++) {
		const struct heap_root *root = &w->scan->roots.data[i];
		uint64_t at =
			root->kind == HEAP_ROOT_DATA && !root->values ? root->start : root->end;
		const struct address_module *module = address_space_module(w->space, at);
		bool loader = at < root->end && module && is_loader(module);
		while (at < root->end) {
			uint64_t here = root->end - at;
			/* A damaged core may claim terabytes that it does not have. */
			size_t empty = address_space_empty(w->space, at, here);
			if (empty >= 8 * piece_words) {
				at += empty / 8 * 8;
				continue;
			}
			size_t wanted = here < 8 * (piece_words + FILE_WORDS)
						? (size_t)here
						: 8 * (piece_words + FILE_WORDS);
			size_t n = address_space_read(w->space, at, words, wanted) / 8;
			for (size_t k = 0; k < piece_words && k + FILE_WORDS <= n; k++) {
				if (is_file(w, words + k))
					assign_buffer(w, words + k);
				if (loader)
					look_at_mappings(w, words[k]);
			}
			at += 8 * piece_words;
		}
	}
	return NULL;
}

/* A thread's table of thread-local memory. */
static void look_at_thread(struct assigner *w, const struct address_thread *thread)
{
	uint64_t at = thread->thread_pointer + (w->space->machine == EM_X86_64 ? 8 : 0);
	uint64_t table, offset, modules;
	if (!thread->stopped || !address_space_word(w->space, at, &table) || table < DTV_ENTRY)
		return;
	table -= DTV_ENTRY;
	uint32_t block = search_block_at(w->scan->search, table, &offset);
	if (block == SPACE_NONE || offset || !address_space_word(w->space, table, &modules))
		return;
	uint64_t room = search_block_size(w->scan->search, block) / DTV_ENTRY;
	if (modules < 1 || modules > DTV_MODULES_MAX || modules + 2 > room)
		return;
	system_types_assign(w, table, SYSTEM_DTV);
}

/* The memory that a thread got by malloc for a library's variables: of their size, but for what
 * aligns them; or (musl's first thread) for those of all modules, with the thread's description. */
static void look_at_thread_block(struct assigner *w, const struct thread_block *block)
{
	uint64_t offset, align = w->space->modules.data[block->module].tls_align;
	uint32_t number = search_block_at(w->scan->search, block->start, &offset);
	if (number == SPACE_NONE)
		return;
	uint64_t size = search_block_size(w->scan->search, number);
	uint64_t bytes = block->end - block->start;
	uint64_t spare = size / 4 > LAYOUT_SPARE ? size / 4 : LAYOUT_SPARE;
	uint64_t pointer = w->space->threads.data[block->thread].thread_pointer;
	bool is_threads = pointer - (block->start - offset) < size;
	if (bytes + offset <= size && (size - bytes <= spare + align || is_threads))
		system_types_assign(w, block->start - offset, SYSTEM_TLS);
}

bool system_types_is_thread_memory(const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_SYSTEM && !strcmp(type->name, type_names[SYSTEM_TLS]);
}

struct error *system_blocks_recognise(struct heap_scan *scan, struct inferred_subset *subset)
{
	(void)subset;
	struct assigner w = {.scan = scan, .space = scan->heap.space};
	struct error *error = NULL;
	for (unsigned i = 0; i < SYSTEM_TYPES && !error; i++)
		error = heap_types_add(&scan->types, HEAP_TYPE_SYSTEM, type_names[i], &w.types[i]);
	if (!error)
		scan->types.types.data[w.types[SYSTEM_MAPPINGS]].starts =
			(1ull << MAPPINGS_LEAD_MAX / 8) - 1;
	for (size_t i = 0; i < w.space->threads.len && !error; i++)
		look_at_thread(&w, &w.space->threads.data[i]);
	for (size_t i = 0; i < scan->thread_blocks.blocks.len && !error; i++)
		look_at_thread_block(&w, &scan->thread_blocks.blocks.data[i]);
	if (!error)
		error = look_at_blocks(&w);
	return error ? error : look_at_data(&w);
}
