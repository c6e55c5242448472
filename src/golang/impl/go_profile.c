/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "golang/go_profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "golang/impl/go_buckets.h"
#include "golang/impl/go_encode.h"
#include "golang/impl/go_program.h"
#include "golang/impl/go_rate.h"

struct go_profile {
	struct go_program program;
	struct go_rate changed; /* what was changed */
	uint64_t rate;          /* by which samples are estimates */
	bool other_rate;        /* it was seen to be another one since */
	struct go_buckets buckets;
};

static size_t profile_read(void *context, uint64_t address, void *ret, size_t bytes)
{
	const struct go_program *program = context;
	return process_memory_read(&program->memory, address, ret, bytes);
}

/* Called for functions until one is of C's side of cgo, or an allocator. */
static bool function_is_go(void *context, const char *name, const Elf64_Sym *symbol)
{
	bool *has_c = context;
	(void)symbol;
	*has_c = strcmp(name, "x_cgo_init") == 0 || strcmp(name, "malloc") == 0;
	return !*has_c;
}

/* Whether libraries are loaded with it. One at any address (PIE) may have a dynamic linker, too. */
static bool file_has_libraries(const struct elf_file *file)
{
	for (size_t i = 0; i < file->part_count; i++) {
		const Elf64_Phdr *part = &file->parts[i];
		const uint8_t *data = elf_file_at(file, part->p_offset, part->p_filesz);
		if (part->p_type != PT_DYNAMIC || !data)
			continue;
		for (uint64_t at = 0; part->p_filesz - at >= sizeof(Elf64_Dyn);
			at += sizeof(Elf64_Dyn)) {
			Elf64_Dyn entry;
			memcpy(&entry, data + at, sizeof(entry));
			if (entry.d_tag == DT_NEEDED)
				return true;
		}
	}
	return false;
}

/* Whether it is linked with C: dynamically, or by what its symbols say. */
static bool file_has_c(const struct elf_file *file)
{
	bool has_c = false;
	if (file_has_libraries(file))
		return true;
	elf_file_symbols(file, function_is_go, &has_c);
	return has_c;
}

bool go_process_recognise(pid_t pid, bool *ret_has_c)
{
	char path[64];
	struct elf_file file;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	struct error *error = elf_file_open(path, &file);
	bool is_go = !error && go_file_recognise(&file);
	if (ret_has_c)
		*ret_has_c = is_go && file_has_c(&file);
	if (!error)
		elf_file_close(&file);
	error_destroy(error);
	return is_go;
}

struct error *go_profile_open(pid_t pid, struct go_profile **ret)
{
	struct go_profile *profile = calloc(1, sizeof(*profile));
	if (!profile)
		return error_no_memory();
	profile->changed = GO_RATE_NONE;
	struct error *error = go_program_open(pid, &profile->program);
	if (!error)
		error = go_profile_look(profile);
	if (error) {
		go_profile_close(profile);
		return error;
	}
	*ret = profile;
	return NULL;
}

void go_profile_close(struct go_profile *profile)
{
	if (!profile)
		return;
	(void)go_rate_put_back(&profile->changed);
	go_buckets_deinit(&profile->buckets);
	go_program_close(&profile->program);
	free(profile);
}

static uint64_t profile_rate_now(const struct go_profile *profile)
{
	uint64_t rate;
	return go_program_word(&profile->program, profile->program.rate_at, &rate) ? rate : 0;
}

struct go_about go_profile_about(const struct go_profile *profile)
{
	uint64_t rate;
	return (struct go_about){.program = profile->program.path,
		.version = profile->program.version,
		.is_stripped = profile->program.is_stripped,
		.rate = profile_rate_now(profile),
		.samples = go_profile_sums(profile).samples,
		.is_there = go_program_word(&profile->program, profile->program.rate_at, &rate)};
}

struct error *go_profile_begin(struct go_profile *profile, uint64_t rate)
{
	uint64_t now = profile_rate_now(profile);
	profile->rate = rate ? rate : now ? now : GO_RATE_USUAL;
	if (now == profile->rate)
		return NULL;
	if (now)
		return error_create(ERROR_INPUT,
			"process %d samples every %" PRIu64
			" bytes already (runtime.MemProfileRate): its samples and those at another "
			"rate can't be told apart; leave out --memprofilerate",
			(int)profile->program.pid, now);
	return go_rate_set(profile->program.pid, profile->program.rate_at, now, profile->rate,
		&profile->changed);
}

struct error *go_profile_look(struct go_profile *profile)
{
	const struct go_memory memory = {profile_read, &profile->program};
	uint64_t first, now;
	go_buckets_deinit(&profile->buckets);
	if (!go_program_word(&profile->program, profile->program.buckets_at, &first))
		return error_create(ERROR_INPUT,
			"process %d has ended, or executes another program",
			(int)profile->program.pid);
	if (profile->rate && go_program_word(&profile->program, profile->program.rate_at, &now))
		profile->other_rate |= now != profile->rate;
	return go_buckets_read(&memory, first, profile->program.path, &profile->buckets);
}

enum go_rate_end go_profile_end(struct go_profile *profile)
{
	uint64_t now;
	enum go_rate_end end = go_rate_put_back(&profile->changed);
	bool is_other = end == GO_RATE_UNCHANGED &&
			go_program_word(&profile->program, profile->program.rate_at, &now) &&
			now != profile->rate;
	return is_other ? GO_RATE_OTHER : end;
}

/* How many bytes there are between two samples on average. */
static uint64_t sample_distance(const struct go_profile *profile)
{
	return min(profile->rate, (uint64_t)GO_RATE_MOST);
}

static void sums_add(
	struct go_sums *sums, const struct go_figures *figures, uint64_t rate, enum go_state state)
{
	uint64_t blocks, bytes;
	go_figures_estimate(figures->allocations, figures->allocated_bytes, rate, &blocks, &bytes);
	sums->allocated_blocks[state] += blocks;
	sums->allocated_bytes[state] += bytes;
	go_figures_estimate(figures->allocations - figures->frees,
		figures->allocated_bytes - figures->freed_bytes, rate, &blocks, &bytes);
	sums->live_blocks[state] += blocks;
	sums->live_bytes[state] += bytes;
}

struct go_sums go_profile_sums(const struct go_profile *profile)
{
	const struct go_buckets *buckets = &profile->buckets;
	struct go_sums sums = {.unsettled = buckets->unsettled, .other_rate = profile->other_rate};
	for (size_t i = 0; i < buckets->buckets.len; i++) {
		const struct go_bucket *bucket = &buckets->buckets.data[i];
		sums.stacks += bucket->now.allocations > 0;
		sums.samples += bucket->now.allocations;
		sums_add(&sums, &bucket->now, sample_distance(profile), GO_STATE_NOW);
		sums_add(&sums, &bucket->published, sample_distance(profile), GO_STATE_GC);
	}
	return sums;
}

/* The part of the file that has its code. */
static struct go_mapping profile_mapping(const struct go_program *program)
{
	struct go_mapping mapping = {.path = program->path};
	for (size_t i = 0; i < program->file.part_count && !mapping.end; i++) {
		const Elf64_Phdr *part = &program->file.parts[i];
		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		mapping.start = part->p_vaddr + program->bias;
		mapping.end = mapping.start + part->p_memsz;
		mapping.offset = part->p_offset;
	}
	return mapping;
}

struct error *go_profile_encode(
	const struct go_profile *profile, const struct go_encoding *encoding, struct buf *out)
{
	const struct go_mapping mapping = profile_mapping(&profile->program);
	return go_encode(&profile->buckets, &profile->program.functions, &mapping,
		sample_distance(profile), encoding, out);
}
