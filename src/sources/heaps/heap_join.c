/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/heap_join.h"

#include <string.h>

#include "base/path.h"
#include "sources/merge.h"

/* Whether the recording has that module: at the same place, or only elsewhere. */
static void look_for(const struct model *recording, const struct address_module *wanted,
	bool *ret_here, bool *ret_elsewhere)
{
	*ret_here = *ret_elsewhere = false;
	for (uint32_t id = 1; id < model_module_limit(recording); id++) {
		const struct module *module = model_module(recording, (struct module_id){id});
		if (strcmp(path_last_part(module->path), path_last_part(wanted->path)) != 0)
			continue;
		*ret_here |= module->bias == wanted->bias;
		*ret_elsewhere |= module->bias != wanted->bias;
	}
}

struct error *heap_join_check(
	const struct address_space *space, const struct model *recording, const char *name)
{
	bool any = false, here, elsewhere;
	for (size_t i = 0; i < space->modules.len; i++) {
		const struct address_module *module = &space->modules.data[i];
		if (!*module->path)
			continue;
		look_for(recording, module, &here, &elsewhere);
		if (elsewhere && !here)
			return error_create(ERROR_INPUT,
				"%s is the recording of another process (%u), which has %s at "
				"another address",
				name, model_target(recording)->outer_pid,
				path_last_part(module->path));
		any |= here;
	}
	return any ? NULL
		   : error_create(ERROR_INPUT,
			     "%s is the recording of another program (%s): it has none of these "
			     "modules",
			     name, model_target(recording)->exe);
}

/* Goes along both lists. */
struct walk {
	struct joined *joined;
	size_t next;
};

static void pass_by(struct walk *walk)
{
	walk->joined->missing++;
	walk->joined->missing_bytes += walk->joined->blocks[walk->next++].size;
}

static uint32_t heap_join_place_of(
	void *context, uint64_t address, uint64_t size, uint64_t *ret_requested)
{
	struct walk *walk = context;
	struct joined *j = walk->joined;
	while (walk->next < j->count && j->blocks[walk->next].address < address)
		pass_by(walk);
	bool there = walk->next < j->count && j->blocks[walk->next].address == address;
	if (there && joined_fits(j->blocks[walk->next].size, size)) {
		j->known++;
		j->known_bytes += size;
		*ret_requested = j->blocks[walk->next].size;
		return j->blocks[walk->next++].site.value;
	}
	j->unknown++;
	j->unknown_bytes += size;
	j->misfits += there;
	if (there)
		pass_by(walk);
	return HEAP_NO_SITE;
}

static bool asked_of(void *context, uint64_t address, uint64_t size, uint64_t *ret)
{
	const struct live_block *known = joined_find(context, address, size);
	if (known)
		*ret = known->size;
	return known;
}

struct error *heap_join(struct heap_scan *scan, struct joined *joined)
{
	if (!joined->blocks && model_totals(joined->recording)->live_blocks)
		return error_create(ERROR_INPUT,
			"%s contains no block addresses: only a completed or a running recording "
			"does",
			joined->name);
	joined->sampled = model_recording(joined->recording)->sample_bytes > 0;
	struct walk walk = {.joined = joined};
	scan->asked = (struct heap_size_source){asked_of, joined};
	struct error *error = heap_scan_set_sites(scan, heap_join_place_of, &walk);
	while (!error && walk.next < joined->count)
		pass_by(&walk);
	return error;
}

/* What the recording counted is of its end, and of what was asked for. */
static void forget_figures(struct model *model, uint32_t from)
{
	size_t count;
	const struct site *sites = model_sites(model, &count);
	for (uint32_t i = from; i < count; i++) {
		struct site *site = build_site_at(model, (struct site_id){i});
		*site = (struct site){.stack = sites[i].stack, .kind = sites[i].kind};
	}
}

struct error *heap_join_put(const struct heap_scan *scan, const struct joined *joined,
	struct model *model, struct site_id *ret)
{
	size_t first, count;
	model_sites(model, &first);
	struct error *error = merge_code(model, joined->recording);
	if (error)
		return error;
	model_sites(model, &count);
	forget_figures(model, (uint32_t)first);
	for (size_t i = 0; i < scan->sites.len; i++) {
		uint32_t place = scan->sites.data[i].place;
		if (place == HEAP_NO_SITE)
			continue;
		if (place >= count - first)
			return error_create(ERROR_INPUT,
				"%s: a live block names site %u, which it does not have",
				joined->name, place);
		ret[i] = (struct site_id){(uint32_t)first + place};
	}
	return NULL;
}
