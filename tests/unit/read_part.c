/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/read_part.h"

#include <stdio.h>

#include "base/hash.h"
#include "model/build.h"
#include "sources/recording/hpw_file.h"
#include "sources/source.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return hash_u64(hash ^ value) + 1;
}

static uint64_t hash_sites(const struct model *model)
{
	size_t count;
	const struct site *sites = model_sites(model, &count);
	uint64_t hash = count;
	for (size_t i = 0; i < count; i++) {
		const struct site *s = &sites[i];
		const uint64_t figures[] = {s->allocations, s->allocated_bytes, s->live_blocks,
			s->live_bytes, s->kept_blocks, s->kept_bytes, s->peak_blocks, s->peak_bytes,
			s->temporary, s->min_size, s->max_size};
		for (size_t n = 0; n < sizeof(figures) / sizeof(figures[0]); n++)
			hash = mix(hash, figures[n]);
	}
	return hash;
}

static uint64_t hash_threads(const struct model *model)
{
	size_t count;
	const struct thread *threads = model_threads(model, &count);
	uint64_t hash = count;
	for (size_t i = 0; i < count; i++) {
		hash = mix(hash, threads[i].allocations);
		hash = mix(hash, threads[i].allocated_bytes);
		hash = mix(hash, threads[i].frees);
		hash = mix(hash, threads[i].temporary);
	}
	return hash;
}

static bool tell(struct error *error)
{
	if (error)
		printf("# %s\n", error->message);
	error_destroy(error);
	return false;
}

bool read_part(const char *path, uint64_t from, uint64_t to, struct part_figures *ret)
{
	const struct source_query query = {
		.from = {.kind = SOURCE_STEP, .step = from},
		.to = {.kind = to == UINT64_MAX ? SOURCE_END : SOURCE_STEP, .step = to},
	};
	struct model *model;
	struct error *error = source_open_query(path, 0, &query, &model);
	if (error)
		return tell(error);
	const struct totals *totals = model_totals(model);
	*ret = (struct part_figures){
		.by_sums = model_recording(model)->read_way == READ_SUMS,
		.allocations = totals->allocations,
		.frees = totals->frees,
		.temporary = totals->temporary,
		.live_blocks = totals->live_blocks,
		.live_bytes = totals->live_bytes,
		.kept_bytes = totals->kept_bytes,
		.peak_bytes = totals->peak_bytes,
		.sites = hash_sites(model),
		.threads = hash_threads(model),
	};
	size_t damage;
	const char *const *sentences = model_damage(model, &damage);
	for (size_t i = 0; i < damage; i++)
		printf("# %s\n", sentences[i]);
	model_destroy(model);
	return !damage;
}

uint64_t count_chunks(const char *path, uint16_t type)
{
	struct input input;
	struct hpw_damage damage = {.count = 0};
	struct hpw_file file = {.input = NULL};
	uint64_t count = UINT64_MAX;
	struct error *error = build_create(&damage.model);
	if (!error)
		error = input_open_file(&input, path);
	if (error) {
		model_destroy(damage.model);
		tell(error);
		return count;
	}
	error = hpw_file_open(&file, &input, &damage);
	if (!error) {
		count = 0;
		for (size_t i = 0; i < file.chunks.len; i++)
			count += file.chunks.data[i].type == type;
	}
	tell(error);
	hpw_file_deinit(&file);
	input_close(&input);
	model_destroy(damage.model);
	return count;
}
