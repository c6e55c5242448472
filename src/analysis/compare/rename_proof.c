/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/rename_proof.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/vec.h"
#include "symbols/mentions.h"

struct asked_module {
	const struct module *module;
	uint32_t number; /* in `symbols` */
};
DEFINE_VEC(asked_modules, struct asked_module)

struct rename_proof {
	struct {
		const struct model *model;
		struct symbols *symbols;
		struct asked_modules modules;
	} sides[2];
};

void rename_proof_destroy(struct rename_proof *proof)
{
	for (int i = 0; proof && i < 2; i++) {
		symbols_destroy(proof->sides[i].symbols);
		asked_modules_deinit(&proof->sides[i].modules);
	}
	free(proof);
}

static inline void rename_proof_cleanup(struct rename_proof **proof)
{
	rename_proof_destroy(*proof);
}

struct error *rename_proof_create(const struct model *const models[2], struct rename_proof **ret)
{
	_cleanup_(rename_proof_cleanup) struct rename_proof *proof = calloc(1, sizeof(*proof));
	struct error *error = proof ? NULL : error_no_memory();
	for (int i = 0; i < 2 && !error; i++) {
		asked_modules_init(&proof->sides[i].modules);
		proof->sides[i].model = models[i];
		error = symbols_create(model_names_from(models[i]), &proof->sides[i].symbols);
	}
	if (!error)
		*ret = steal_ptr(proof);
	return error;
}

static const struct module *find_module(const struct model *model, const char *path)
{
	for (uint32_t id = 1; path && id < model_module_limit(model); id++) {
		const struct module *module = model_module(model, (struct module_id){id});
		if (strcmp(module->path, path) == 0)
			return module;
	}
	return NULL;
}

static struct error *rename_proof_number_of(
	struct rename_proof *proof, int side, const struct module *module, uint32_t *ret)
{
	struct asked_modules *modules = &proof->sides[side].modules;
	for (size_t i = 0; i < modules->len; i++)
		if (modules->data[i].module == module) {
			*ret = modules->data[i].number;
			return NULL;
		}
	struct error *error = symbols_add_module(proof->sides[side].symbols, module->path,
		module->build_id, module->build_id_len, ret);
	if (error)
		return error;
	return asked_modules_push(modules, (struct asked_module){module, *ret}) ? NULL
										: error_no_memory();
}

/* What the module of a frame, as a model has it, says of a name. */
static struct error *rename_proof_ask(struct rename_proof *proof, int side,
	const struct shown_frame *frame, const char *name, struct symbols_mention *ret)
{
	*ret = (struct symbols_mention){.known = false};
	const struct module *module = find_module(proof->sides[side].model, frame->module_path);
	uint32_t number;
	/* What a file of another tool says of its code is not asked of any file here. */
	if (!module || frame->given)
		return NULL;
	struct error *error = rename_proof_number_of(proof, side, module, &number);
	return error ? error : symbols_mention(proof->sides[side].symbols, number, name, ret);
}

static const char *linked_name(const struct shown_frame *frame)
{
	return frame->raw_name ? frame->raw_name : shown_frame_plain(frame);
}

/* Whether each name is only in the files of its own model. */
static struct error *are_apart(struct rename_proof *proof, const struct shown_frame *older,
	const char *old, const struct shown_frame *newer, const char *new, bool *ret)
{
	struct symbols_mention mention;
	struct error *error = rename_proof_ask(proof, 1, newer, old, &mention);
	*ret = !error && mention.known && !mention.found;
	if (!*ret)
		return error;
	error = rename_proof_ask(proof, 0, older, new, &mention);
	*ret = !error && mention.known && !mention.found;
	return error;
}

/* The only functions of their names, or of files that the other build does not have. */
static struct error *has_moved(struct rename_proof *proof, const struct shown_frame *older,
	const struct shown_frame *newer, bool *ret)
{
	struct symbols_mention mentions[2];
	struct error *error = rename_proof_ask(proof, 0, older, linked_name(older), &mentions[0]);
	if (!error)
		error = rename_proof_ask(proof, 1, newer, linked_name(newer), &mentions[1]);
	*ret = !error && mentions[0].known && mentions[1].known && mentions[0].functions == 1 &&
	       mentions[1].functions == 1;
	if (error || *ret)
		return error;
	return are_apart(
		proof, older, path_last_part(older->file), newer, path_last_part(newer->file), ret);
}

struct error *rename_proof_find(struct rename_proof *proof, const struct identity *older,
	const struct identity *newer, bool *ret)
{
	const struct shown_frame *old = older->example, *new = newer->example;
	bool same_name = strcmp(older->function, newer->function) == 0;
	*ret = false;
	if (older->same_file || newer->same_file)
		return NULL;
	if (same_name)
		return has_moved(proof, old, new, ret);
	return are_apart(proof, old, linked_name(old), new, linked_name(new), ret);
}
