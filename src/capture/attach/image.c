/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/image.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of attach_image.S, which the build makes of the image's file. */
extern const uint8_t attach_image_data[] __attribute__((visibility("hidden")));
extern const uint8_t attach_image_end[] __attribute__((visibility("hidden")));

#define PAGE 4096ull

const char *const attach_function_names[HW_ATTACH_FUNCTIONS] = {
	[HW_ATTACH_MALLOC] = "malloc",
	[HW_ATTACH_CALLOC] = "calloc",
	[HW_ATTACH_REALLOC] = "realloc",
	[HW_ATTACH_REALLOCARRAY] = "reallocarray",
	[HW_ATTACH_FREE] = "free",
	[HW_ATTACH_POSIX_MEMALIGN] = "posix_memalign",
	[HW_ATTACH_ALIGNED_ALLOC] = "aligned_alloc",
	[HW_ATTACH_MEMALIGN] = "memalign",
	[HW_ATTACH_VALLOC] = "valloc",
	[HW_ATTACH_PVALLOC] = "pvalloc",
	[HW_ATTACH_CFREE] = "cfree",
	[HW_ATTACH_FREE_SIZED] = "free_sized",
	[HW_ATTACH_FREE_ALIGNED_SIZED] = "free_aligned_sized",
	[HW_ATTACH_DLCLOSE] = "dlclose",
	[HW_ATTACH_NEW] = "_Znwm",
	[HW_ATTACH_NEW_ARRAY] = "_Znam",
	[HW_ATTACH_NEW_NOTHROW] = "_ZnwmRKSt9nothrow_t",
	[HW_ATTACH_NEW_ARRAY_NOTHROW] = "_ZnamRKSt9nothrow_t",
	[HW_ATTACH_NEW_ALIGNED] = "_ZnwmSt11align_val_t",
	[HW_ATTACH_NEW_ARRAY_ALIGNED] = "_ZnamSt11align_val_t",
	[HW_ATTACH_NEW_ALIGNED_NOTHROW] = "_ZnwmSt11align_val_tRKSt9nothrow_t",
	[HW_ATTACH_NEW_ARRAY_ALIGNED_NOTHROW] = "_ZnamSt11align_val_tRKSt9nothrow_t",
	[HW_ATTACH_DELETE] = "_ZdlPv",
	[HW_ATTACH_DELETE_ARRAY] = "_ZdaPv",
	[HW_ATTACH_DELETE_SIZED] = "_ZdlPvm",
	[HW_ATTACH_DELETE_ARRAY_SIZED] = "_ZdaPvm",
	[HW_ATTACH_DELETE_NOTHROW] = "_ZdlPvRKSt9nothrow_t",
	[HW_ATTACH_DELETE_ARRAY_NOTHROW] = "_ZdaPvRKSt9nothrow_t",
	[HW_ATTACH_DELETE_ALIGNED] = "_ZdlPvSt11align_val_t",
	[HW_ATTACH_DELETE_ARRAY_ALIGNED] = "_ZdaPvSt11align_val_t",
	[HW_ATTACH_DELETE_SIZED_ALIGNED] = "_ZdlPvmSt11align_val_t",
	[HW_ATTACH_DELETE_ARRAY_SIZED_ALIGNED] = "_ZdaPvmSt11align_val_t",
	[HW_ATTACH_DELETE_ALIGNED_NOTHROW] = "_ZdlPvSt11align_val_tRKSt9nothrow_t",
	[HW_ATTACH_DELETE_ARRAY_ALIGNED_NOTHROW] = "_ZdaPvSt11align_val_tRKSt9nothrow_t",
	[HW_ATTACH_FORK] = "fork",
	[HW_ATTACH_FORK_PLAIN] = "_Fork",
	[HW_ATTACH_DLOPEN] = "dlopen",
	[HW_ATTACH_DLMOPEN] = "dlmopen",
	[HW_ATTACH_DLSYM] = "dlsym",
	[HW_ATTACH_DLVSYM] = "dlvsym",
};

static const char *const hook_names[HW_ATTACH_FUNCTIONS] = {
	[HW_ATTACH_MALLOC] = "at_hook_malloc",
	[HW_ATTACH_CALLOC] = "at_hook_calloc",
	[HW_ATTACH_REALLOC] = "at_hook_realloc",
	[HW_ATTACH_REALLOCARRAY] = "at_hook_reallocarray",
	[HW_ATTACH_FREE] = "at_hook_free",
	[HW_ATTACH_POSIX_MEMALIGN] = "at_hook_posix_memalign",
	[HW_ATTACH_ALIGNED_ALLOC] = "at_hook_aligned_alloc",
	[HW_ATTACH_MEMALIGN] = "at_hook_memalign",
	[HW_ATTACH_VALLOC] = "at_hook_valloc",
	[HW_ATTACH_PVALLOC] = "at_hook_pvalloc",
	[HW_ATTACH_CFREE] = "at_hook_cfree",
	[HW_ATTACH_FREE_SIZED] = "at_hook_free_sized",
	[HW_ATTACH_FREE_ALIGNED_SIZED] = "at_hook_free_aligned_sized",
	[HW_ATTACH_DLCLOSE] = "at_hook_dlclose",
	[HW_ATTACH_NEW] = "at_hook_new",
	[HW_ATTACH_NEW_ARRAY] = "at_hook_new_array",
	[HW_ATTACH_NEW_NOTHROW] = "at_hook_new_nothrow",
	[HW_ATTACH_NEW_ARRAY_NOTHROW] = "at_hook_new_array_nothrow",
	[HW_ATTACH_NEW_ALIGNED] = "at_hook_new_aligned",
	[HW_ATTACH_NEW_ARRAY_ALIGNED] = "at_hook_new_array_aligned",
	[HW_ATTACH_NEW_ALIGNED_NOTHROW] = "at_hook_new_aligned_nothrow",
	[HW_ATTACH_NEW_ARRAY_ALIGNED_NOTHROW] = "at_hook_new_array_aligned_nothrow",
	[HW_ATTACH_DELETE] = "at_hook_delete",
	[HW_ATTACH_DELETE_ARRAY] = "at_hook_delete_array",
	[HW_ATTACH_DELETE_SIZED] = "at_hook_delete_sized",
	[HW_ATTACH_DELETE_ARRAY_SIZED] = "at_hook_delete_array_sized",
	[HW_ATTACH_DELETE_NOTHROW] = "at_hook_delete_nothrow",
	[HW_ATTACH_DELETE_ARRAY_NOTHROW] = "at_hook_delete_array_nothrow",
	[HW_ATTACH_DELETE_ALIGNED] = "at_hook_delete_aligned",
	[HW_ATTACH_DELETE_ARRAY_ALIGNED] = "at_hook_delete_array_aligned",
	[HW_ATTACH_DELETE_SIZED_ALIGNED] = "at_hook_delete_sized_aligned",
	[HW_ATTACH_DELETE_ARRAY_SIZED_ALIGNED] = "at_hook_delete_array_sized_aligned",
	[HW_ATTACH_DELETE_ALIGNED_NOTHROW] = "at_hook_delete_aligned_nothrow",
	[HW_ATTACH_DELETE_ARRAY_ALIGNED_NOTHROW] = "at_hook_delete_array_aligned_nothrow",
	[HW_ATTACH_FORK] = "at_hook_fork",
	[HW_ATTACH_FORK_PLAIN] = "at_hook_fork_plain",
	[HW_ATTACH_DLOPEN] = "at_hook_dlopen",
	[HW_ATTACH_DLMOPEN] = "at_hook_dlmopen",
	[HW_ATTACH_DLSYM] = "at_hook_dlsym",
	[HW_ATTACH_DLVSYM] = "at_hook_dlvsym",
};

/* From HW_INLINE_MALLOC on; those of the operators are in the table above. */
static const char *const inline_names[HW_INLINE_NEW] = {
	[HW_INLINE_MALLOC] = "malloc",
	[HW_INLINE_CALLOC] = "calloc",
	[HW_INLINE_REALLOC] = "realloc",
	[HW_INLINE_REALLOCARRAY] = "reallocarray",
	[HW_INLINE_FREE] = "free",
	[HW_INLINE_CFREE] = "cfree",
	[HW_INLINE_POSIX_MEMALIGN] = "posix_memalign",
	[HW_INLINE_ALIGNED_ALLOC] = "aligned_alloc",
	[HW_INLINE_MEMALIGN] = "memalign",
	[HW_INLINE_VALLOC] = "valloc",
	[HW_INLINE_PVALLOC] = "pvalloc",
	[HW_INLINE_FREE_SIZED] = "free_sized",
	[HW_INLINE_FREE_ALIGNED_SIZED] = "free_aligned_sized",
	[HW_INLINE_MALLOCX] = "mallocx",
	[HW_INLINE_RALLOCX] = "rallocx",
	[HW_INLINE_DALLOCX] = "dallocx",
	[HW_INLINE_SDALLOCX] = "sdallocx",
	[HW_INLINE_ZALLOC] = "zalloc",
	[HW_INLINE_MALLOC_ALIGNED] = "malloc_aligned",
	[HW_INLINE_ZALLOC_ALIGNED] = "zalloc_aligned",
	[HW_INLINE_REALLOC_ALIGNED] = "realloc_aligned",
};

static bool is_other(unsigned function)
{
	return function >= HW_INLINE_OTHER && function <= HW_INLINE_OTHER_LAST;
}

const char *attach_inline_name(unsigned function)
{
	if (function >= HW_INLINE_FORK)
		return "_Fork";
	if (function >= HW_INLINE_NEW)
		return attach_function_names[function - HW_INLINE_NEW + HW_ATTACH_NEW];
	return inline_names[is_other(function) ? function - HW_INLINE_OTHER : function];
}

/* "at_inline_malloc", "at_inline_other_malloc"; of operators as their other hooks. */
static void name_inline_hook(unsigned function, char *ret, size_t room)
{
	const char *name = attach_inline_name(function);
	if (function >= HW_INLINE_FORK)
		name = "fork";
	else if (function >= HW_INLINE_NEW)
		name = hook_names[function - HW_INLINE_NEW + HW_ATTACH_NEW] + strlen("at_hook_");
	snprintf(ret, room, "at_inline_%s%s", is_other(function) ? "other_" : "", name);
}

static const Elf64_Phdr *part_of_type(uint32_t type)
{
	const Elf64_Ehdr *file = (const void *)attach_image_data;
	const Elf64_Phdr *parts = (const void *)(attach_image_data + file->e_phoff);
	for (unsigned i = 0; i < file->e_phnum; i++) {
		if (parts[i].p_type == type)
			return &parts[i];
	}
	return NULL;
}

static uint64_t dynamic_value(int64_t tag)
{
	const Elf64_Phdr *part = part_of_type(PT_DYNAMIC);
	const Elf64_Dyn *entries = part ? (const void *)(attach_image_data + part->p_offset) : NULL;
	for (; entries && entries->d_tag != DT_NULL; entries++) {
		if (entries->d_tag == tag)
			return entries->d_un.d_val;
	}
	return 0;
}

/* The image's tables lie at its beginning, where file and memory are the same. */
static const Elf64_Sym *find_symbol(const char *name)
{
	const uint32_t *hash = (const void *)(attach_image_data + dynamic_value(DT_HASH));
	const Elf64_Sym *symbols = (const void *)(attach_image_data + dynamic_value(DT_SYMTAB));
	const char *strings = (const char *)attach_image_data + dynamic_value(DT_STRTAB);
	for (uint32_t i = 1; i < hash[1]; i++) {
		if (!strcmp(strings + symbols[i].st_name, name))
			return &symbols[i];
	}
	return NULL;
}

/* Writes the parts to where they are in memory. */
static bool write_parts(struct attach_image *image)
{
	const Elf64_Ehdr *file = (const void *)attach_image_data;
	const Elf64_Phdr *parts = (const void *)(attach_image_data + file->e_phoff);
	for (unsigned i = 0; i < file->e_phnum; i++) {
		const Elf64_Phdr *part = &parts[i];
		if (part->p_type != PT_LOAD)
			continue;
		uint64_t end = (part->p_vaddr + part->p_memsz + PAGE - 1) / PAGE * PAGE;
		image->bytes = end > image->bytes ? end : image->bytes;
		if (part->p_flags & PF_W)
			image->data = part->p_vaddr / PAGE * PAGE;
		if (pwrite(image->memory, attach_image_data + part->p_offset, part->p_filesz,
			    (off_t)part->p_vaddr) != (ssize_t)part->p_filesz)
			return false;
	}
	return image->data && !ftruncate(image->memory, (off_t)image->bytes);
}

static bool find_inline_hooks(struct attach_image *image)
{
	const Elf64_Sym *stubs = find_symbol("hw_attach_stubs");
	if (!stubs || stubs->st_size != (uint64_t)HW_INLINE_FUNCTIONS * HW_ATTACH_STUB_BYTES)
		return false;
	image->stubs = stubs->st_value;
	for (unsigned i = 0; i < HW_INLINE_FUNCTIONS; i++) {
		char name[64];
		name_inline_hook(i, name, sizeof(name));
		const Elf64_Sym *hook = find_symbol(name);
		if (!hook)
			return false;
		image->inline_hooks[i] = hook->st_value;
	}
	return true;
}

static bool find_parts(struct attach_image *image)
{
	const Elf64_Sym *settings = find_symbol("hw_attach");
	const Elf64_Sym *layout = find_symbol("hw_attach_layout");
	if (!settings || !layout || dynamic_value(DT_RELA) || dynamic_value(DT_RELR) ||
		settings->st_size != sizeof(struct hw_attach) ||
		layout->st_size != sizeof(image->layout))
		return false;
	image->settings = settings->st_value;
	memcpy(&image->layout, attach_image_data + layout->st_value, sizeof(image->layout));
	image->layout.own_bytes = (image->layout.own_bytes + PAGE - 1) / PAGE * PAGE;
	for (unsigned i = 0; i < HW_ATTACH_FUNCTIONS; i++) {
		const Elf64_Sym *hook = find_symbol(hook_names[i]);
		if (!hook)
			return false;
		image->hooks[i] = hook->st_value;
	}
	return find_inline_hooks(image);
}

struct error *attach_image_open(struct attach_image *ret)
{
	*ret = (struct attach_image){.memory = memfd_create(HW_ATTACH_NAME, MFD_CLOEXEC)};
	if (ret->memory < 0)
		return error_errno(
			ERROR_ENVIRONMENT, errno, "can't create memory for the code to be mapped");
	if (write_parts(ret) && find_parts(ret))
		return NULL;
	attach_image_close(ret);
	return error_create(ERROR_INTERNAL, "the code to be mapped into processes is damaged");
}

void attach_image_close(struct attach_image *image)
{
	if (image->memory >= 0)
		close(image->memory);
	image->memory = -1;
}
