/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see modules.h. May touch: the same.
 *
 * Entries are never changed but for `gone`, so readers need no lock. Two lives of a path at the
 * same place (dlclose, dlopen of the same file) keep one entry if the table was not read in
 * between; any other change of what is mapped there makes a new one, so that the names of two
 * libraries that had the same range at different times can't be mixed.
 */
#include "runtime/core/modules.h"

#include <linux/elf.h>

#define PATH_BYTES 4096

void rt_found_whole(struct rt_found *found, const void *parts, uint64_t count)
{
	const Elf64_Phdr *part = parts;
	for (uint64_t i = 0; part && i < count; i++, part++) {
		if (part->p_type != PT_LOAD)
			continue;
		uint64_t start = (found->bias + part->p_vaddr) & ~4095ull;
		uint64_t end = found->bias + part->p_vaddr + part->p_memsz;
		found->start = start < found->start ? start : found->start;
		found->end = end > found->end ? end : found->end;
	}
}

static uint64_t hash_string(const char *s)
{
	uint64_t h = 14695981039346656037ull;
	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 1099511628211ull;
	return h;
}

static bool is_same_module(const struct rt_module *m, const struct rt_found *found)
{
	return m->start == found->start && m->end == found->end && m->identity == found->identity &&
	       m->path_hash == hash_string(found->path);
}

/* Reads NT_GNU_BUILD_ID from the program headers of a mapped ELF file. */
static uint32_t build_id(uint64_t start, uint64_t bias, uint64_t end, uint8_t *ret)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)start;
	if (end - start < 4096 || ehdr->e_ident[0] != 0x7f || ehdr->e_ident[1] != 'E' ||
		ehdr->e_ident[2] != 'L' || ehdr->e_ident[3] != 'F' || ehdr->e_phoff > 4096 ||
		ehdr->e_phentsize != sizeof(Elf64_Phdr) || ehdr->e_phnum > 64)
		return 0;
	const Elf64_Phdr *phdr = (const Elf64_Phdr *)(start + ehdr->e_phoff);
	for (int i = 0; i < ehdr->e_phnum; i++) {
		if (phdr[i].p_type != PT_NOTE)
			continue;
		uint64_t at = bias + phdr[i].p_vaddr, stop = at + phdr[i].p_memsz;
		if (at < start || stop > end || stop < at)
			continue;
		while (stop - at >= sizeof(Elf64_Nhdr)) {
			const Elf64_Nhdr *note = (const Elf64_Nhdr *)at;
			uint64_t name = at + sizeof(*note);
			uint64_t desc = name + ((uint64_t)note->n_namesz + 3) / 4 * 4;
			if (desc + note->n_descsz > stop)
				break;
			if (note->n_type == 3 /* NT_GNU_BUILD_ID */ && note->n_namesz == 4 &&
				*(const uint32_t *)name == 0x554e47 /* "GNU" */) {
				uint32_t n = note->n_descsz < 32 ? note->n_descsz : 32;
				for (uint32_t b = 0; b < n; b++)
					ret[b] = ((const uint8_t *)desc)[b];
				return n;
			}
			at = desc + ((uint64_t)note->n_descsz + 3) / 4 * 4;
		}
	}
	return 0;
}

/* Absolute path of what the linker knows as `path`, straight into the shared strings. */
static uint32_t store_path(struct rt_modules *modules, const char *path, uint32_t *ret_offset)
{
	uint32_t at = modules->shm->strings;
	if (at > HW_STRINGS_BYTES - 2 * PATH_BYTES)
		return 0;
	char *to = modules->strings + at;
	uint32_t n = 0;
	if (!*path) {
		/* Not /proc/self: that names nothing once the first thread has ended. */
		long got = sys_call(__NR_readlink, "/proc/thread-self/exe", to, PATH_BYTES);
		n = sys_failed(got) ? 0 : (uint32_t)got;
	} else {
		bool relative =
			*path != '/' && !(path[0] == 'l' && path[5] == '-' && path[6] == 'v');
		if (relative) {
			long got = sys_call(__NR_getcwd, to, PATH_BYTES, 0);
			n = sys_failed(got) || got < 2 ? 0 : (uint32_t)got - 1;
			if (n)
				to[n++] = '/';
		}
		for (; *path && n < 2 * PATH_BYTES - 1; path++)
			to[n++] = *path;
	}
	*ret_offset = at;
	modules->shm->strings = at + n;
	return n;
}

static const struct rt_module *module_add(struct rt_modules *modules, const struct rt_found *found)
{
	uint32_t n = modules->count;
	uint32_t shared = modules->shm->modules;
	if (n >= HW_MODULES_MAX || shared >= HW_MODULES_MAX)
		return NULL;
	struct hw_module *out = &modules->table[shared];
	out->start = found->start;
	out->end = found->end;
	out->bias = found->bias;
	out->build_id_bytes = build_id(found->start, found->bias, found->end, out->build_id);
	out->path_bytes = store_path(modules, found->path, &out->path_offset);
	/* Publishes the entry to the collector. */
	__atomic_store_n(&modules->shm->modules, shared + 1, __ATOMIC_RELEASE);
	struct rt_module *m = &modules->list[n];
	*m = (struct rt_module){.start = found->start,
		.end = found->end,
		.eh_frame_hdr = found->eh_frame_hdr,
		.tables_start = found->tables ? found->tables : found->start,
		.identity = found->identity,
		.path_hash = hash_string(found->path),
		.id = (uint16_t)shared};
	/* Publishes the entry to this process's other threads. */
	__atomic_store_n(&modules->count, n + 1, __ATOMIC_RELEASE);
	return m;
}

static const struct rt_module *module_find(struct rt_modules *modules, uint64_t address)
{
	for (uint32_t i = __atomic_load_n(&modules->count, __ATOMIC_ACQUIRE); i-- > 0;) {
		const struct rt_module *m = &modules->list[i];
		if (address - m->start < m->end - m->start &&
			!__atomic_load_n(&m->gone, __ATOMIC_RELAXED))
			return m;
	}
	return NULL;
}

const struct rt_module *rt_modules_at(struct rt_modules *modules, uint64_t address)
{
	struct rt_found found;
	if (!modules->find(address, &found))
		return NULL;
	const struct rt_module *m = module_find(modules, address);
	if (m && is_same_module(m, &found))
		return m;
	if (!rt_lock_try(&modules->lock))
		return NULL;
	m = module_find(modules, address);
	if (!m || !is_same_module(m, &found)) {
		if (m)
			__atomic_store_n(
				&modules->list[m - modules->list].gone, true, __ATOMIC_RELAXED);
		m = module_add(modules, &found);
	}
	rt_unlock(&modules->lock);
	return m;
}

void rt_modules_review(struct rt_modules *modules,
	void (*gone)(void *context, uint64_t start, uint64_t end), void *context)
{
	if (!rt_lock_try(&modules->lock))
		return;
	for (uint32_t i = 0; i < modules->count; i++) {
		struct rt_module *m = &modules->list[i];
		struct rt_found found;
		if (m->gone || (modules->find(m->start, &found) && is_same_module(m, &found)))
			continue;
		__atomic_store_n(&m->gone, true, __ATOMIC_RELAXED);
		/* First: what is withdrawn may be used anew at once, and memories must not mix it
		 * up. */
		__atomic_fetch_add(&modules->generation, 1, __ATOMIC_SEQ_CST);
		gone(context, m->start, m->end);
	}
	rt_unlock(&modules->lock);
}
