/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/watched_functions.h"

#include <string.h>

#include "base/util.h"
#include "capture/watch/probe_place.h"

/* The number of a row is what cookies and sites have. */
const struct watched_function watched_functions[] = {
	{"malloc", "malloc", WATCH_SIZE, WATCHED_ALLOCATOR},
	{"calloc", "calloc", WATCH_COUNT_SIZE, WATCHED_ALLOCATOR},
	{"realloc", "realloc", WATCH_RESIZE, WATCHED_ALLOCATOR},
	{"reallocarray", "reallocarray", WATCH_RESIZE_COUNT, WATCHED_ALLOCATOR},
	{"posix_memalign", "posix_memalign", WATCH_MEMALIGN_TO, WATCHED_ALLOCATOR},
	{"aligned_alloc", "aligned_alloc", WATCH_ALIGN_SIZE, WATCHED_ALLOCATOR},
	{"memalign", "memalign", WATCH_ALIGN_SIZE, WATCHED_ALLOCATOR},
	{"valloc", "valloc", WATCH_SIZE, WATCHED_ALLOCATOR},
	{"pvalloc", "pvalloc", WATCH_SIZE, WATCHED_ALLOCATOR},
	{"free", "free", WATCH_FREE, WATCHED_ALLOCATOR},
	{"cfree", "cfree", WATCH_FREE, WATCHED_ALLOCATOR},
	{"free_sized", "free_sized", WATCH_FREE, WATCHED_ALLOCATOR},
	{"free_aligned_sized", "free_aligned_sized", WATCH_FREE, WATCHED_ALLOCATOR},
	{"mallocx", "mallocx", WATCH_SIZE, WATCHED_ALLOCATOR},
	{"rallocx", "rallocx", WATCH_RESIZE_STRICT, WATCHED_ALLOCATOR},
	{"dallocx", "dallocx", WATCH_FREE, WATCHED_ALLOCATOR},
	{"sdallocx", "sdallocx", WATCH_FREE, WATCHED_ALLOCATOR},
	{"_Znwm", "operator new", WATCH_SIZE_THROWS, WATCHED_ALLOCATOR},
	{"_Znam", "operator new[]", WATCH_SIZE_THROWS, WATCHED_ALLOCATOR},
	{"_ZnwmRKSt9nothrow_t", "operator new", WATCH_SIZE, WATCHED_ALLOCATOR},
	{"_ZnamRKSt9nothrow_t", "operator new[]", WATCH_SIZE, WATCHED_ALLOCATOR},
	{"_ZnwmSt11align_val_t", "operator new", WATCH_SIZE_THROWS, WATCHED_ALLOCATOR},
	{"_ZnamSt11align_val_t", "operator new[]", WATCH_SIZE_THROWS, WATCHED_ALLOCATOR},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", "operator new", WATCH_SIZE, WATCHED_ALLOCATOR},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", "operator new[]", WATCH_SIZE, WATCHED_ALLOCATOR},
	{"_ZdlPv", "operator delete", WATCH_FREE, WATCHED_ALLOCATOR},
	{"_ZdaPv", "operator delete[]", WATCH_FREE, WATCHED_ALLOCATOR},
	{"_ZdlPvm", "operator delete", WATCH_FREE, WATCHED_ALLOCATOR},
	{"_ZdaPvm", "operator delete[]", WATCH_FREE, WATCHED_ALLOCATOR},
	{"_ZdlPvRKSt9nothrow_t", "operator delete", WATCH_FREE, WATCHED_ALLOCATOR},
	{"_ZdaPvRKSt9nothrow_t", "operator delete[]", WATCH_FREE, WATCHED_ALLOCATOR},
	{"_ZdlPvSt11align_val_t", "operator delete", WATCH_FREE, WATCHED_ALLOCATOR},
	{"_ZdaPvSt11align_val_t", "operator delete[]", WATCH_FREE, WATCHED_ALLOCATOR},
	{"_ZdlPvmSt11align_val_t", "operator delete", WATCH_FREE, WATCHED_ALLOCATOR},
	{"_ZdaPvmSt11align_val_t", "operator delete[]", WATCH_FREE, WATCHED_ALLOCATOR},
	{"mmap", "mmap", WATCH_MAP, WATCHED_LIBC},
	{"munmap", "munmap", WATCH_UNMAP, WATCHED_LIBC},
	{"mremap", "mremap", WATCH_REMAP, WATCHED_LIBC},
	{"_dl_debug_state", "_dl_debug_state", WATCH_MODULES, WATCHED_LINKER},
};
const unsigned watched_function_count = ARRAY_SIZE(watched_functions);

/* Arguments that the programs in the kernel read at the call. */
static unsigned shape_arguments(enum watch_shape shape)
{
	static const uint8_t arguments[WATCH_SHAPES] = {[WATCH_SIZE] = 1,
		[WATCH_SIZE_THROWS] = 1,
		[WATCH_COUNT_SIZE] = 2,
		[WATCH_ALIGN_SIZE] = 2,
		[WATCH_MEMALIGN_TO] = 3,
		[WATCH_RESIZE] = 2,
		[WATCH_RESIZE_COUNT] = 3,
		[WATCH_RESIZE_STRICT] = 2,
		[WATCH_FREE] = 1,
		[WATCH_MAP] = 4,
		[WATCH_UNMAP] = 2,
		[WATCH_REMAP] = 4};
	return arguments[shape];
}

struct place_search {
	const struct elf_file *file;
	struct watched_places found; /* all names, wanted or not */
	bool has_malloc, has_mmap, has_failed;
};

static unsigned function_number(const char *name)
{
	for (unsigned i = 0; i < watched_function_count; i++) {
		if (!strcmp(watched_functions[i].name, name))
			return i;
	}
	return watched_function_count;
}

static bool place_note(void *context, const char *name, uint64_t address, uint64_t bytes)
{
	struct place_search *search = context;
	/* Nearly all functions are others. */
	if (!strchr("mcrpavf_sd", name[0]))
		return true;
	unsigned number = function_number(name);
	if (number == watched_function_count)
		return true;
	search->has_malloc |= !strcmp(name, "malloc");
	search->has_mmap |= !strcmp(name, "mmap");
	if (watched_places_push(&search->found, (struct watched_place){number, 0, address, bytes}))
		return true;
	search->has_failed = true;
	return false;
}

static bool is_known_place(const struct watched_places *places, uint64_t address)
{
	for (size_t i = 0; i < places->len; i++) {
		if (places->data[i].address == address)
			return true;
	}
	return false;
}

static bool place_locate(const struct elf_file *file, struct watched_place *place)
{
	uint64_t offset;
	if (!elf_file_offset(file, place->address, &offset))
		return false;
	uint64_t len = min((uint64_t)PROBE_PLACE_BYTES, file->bytes - offset);
	if (place->bytes)
		len = min(len, place->bytes);
	unsigned arguments = shape_arguments(watched_functions[place->function].shape);
	place->offset = offset + probe_place_find(file->data + offset, len, arguments);
	return true;
}

struct error *watched_places_find(
	const struct elf_file *file, struct watched_places *places, bool *ret_allocator)
{
	struct place_search search = {.file = file};
	elf_file_functions(file, place_note, &search);
	for (size_t i = 0; i < search.found.len && !search.has_failed; i++) {
		struct watched_place place = search.found.data[i];
		enum watched_where where = watched_functions[place.function].where;
		bool wanted = where == WATCHED_LINKER ||
			      (where == WATCHED_LIBC ? search.has_mmap : search.has_malloc);
		if (wanted && !is_known_place(places, place.address) && place_locate(file, &place))
			search.has_failed = !watched_places_push(places, place);
	}
	*ret_allocator = search.has_malloc;
	watched_places_deinit(&search.found);
	return search.has_failed ? error_no_memory() : NULL;
}
