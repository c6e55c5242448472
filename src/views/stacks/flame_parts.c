/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/stacks/flame_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "views/stacks/figures.h"

static uint64_t flame_parts_width_of(
	const struct profile *profile, const struct calltree_node *node)
{
	return node->total.now + (profile->base ? node->total.base : 0);
}

struct error *flame_layout(
	const struct profile *profile, const struct calltree *tree, struct flame_cell **ret)
{
	const struct calltree_nodes *nodes = &tree->nodes;
	struct flame_cell *cells = calloc(nodes->len + 1, sizeof(*cells));
	if (!cells)
		return error_no_memory();
	cells[0].width = flame_parts_width_of(profile, &nodes->data[0]);
	for (size_t i = 0; i < nodes->len; i++) {
		uint64_t next = cells[i].start;
		for (uint32_t k = 0; k < nodes->data[i].children; k++) {
			uint32_t child = tree->order[nodes->data[i].first_child + k];
			cells[child].start = next;
			cells[child].width = flame_parts_width_of(profile, &nodes->data[child]);
			next += cells[child].width;
		}
	}
	*ret = cells;
	return NULL;
}

/* Length of what comes before a function's own name: "std" of C++, "github.com/a/b" of Go. */
static size_t package_len(const char *name)
{
	size_t scope = strcspn(name, "<(");
	const char *colons = memmem(name, scope, "::", 2);
	if (colons)
		return (size_t)(colons - name);
	const char *slash = memrchr(name, '/', scope);
	const char *dot =
		memchr(slash ? slash : name, '.', scope - (slash ? (size_t)(slash - name) : 0));
	return dot ? (size_t)(dot - name) : 0;
}

unsigned flame_colour(const struct spot *spot, unsigned count)
{
	const char *module = spot && spot->frame->module ? spot->frame->module : "";
	const char *name = spot ? spot->brief : "";
	uint64_t hash = hash_bytes(module, strlen(module));
	size_t package = package_len(name);
	return (unsigned)((package ? hash ^ hash_bytes(name, package) : hash) % count);
}

unsigned flame_function_colour(const struct spot *spot, unsigned count)
{
	const char *name = spot ? spot->name : "";
	return (unsigned)(hash_bytes(name, strlen(name)) / 16 % count);
}

double flame_self_share(const struct calltree *tree, const struct calltree_node *node)
{
	if (tree->way == CALLTREE_UP)
		return node->depth == 1;
	return node->total.now ? (double)node->self.now / (double)node->total.now : 0;
}

int flame_shade(const struct spot *spot, int most)
{
	const char *name = spot ? spot->name : "";
	return (int)(hash_bytes(name, strlen(name)) % (2 * (uint64_t)most + 1)) - most;
}

double flame_change(struct figure figure)
{
	double both = (double)figure.now + (double)figure.base;
	return both > 0 ? ((double)figure.now - (double)figure.base) / both : 0;
}

void flame_add_label(
	struct text *out, const struct calltree *tree, const struct calltree_node *node)
{
	if (node->spot)
		spot_add_label(out, spots_grain(tree->spots), node->spot);
	else
		text_add(out, node->depth ? NO_STACK_NAME : "all");
}

/* For other programs. */
static void add_whole_label(
	struct text *out, const struct calltree *tree, const struct calltree_node *node)
{
	if (node->spot)
		spot_add_whole_label(out, spots_grain(tree->spots), node->spot);
	else
		flame_add_label(out, tree, node);
}

void flame_add_caption(struct text *out, const struct profile *profile, const struct calltree *tree,
	enum metric metric)
{
	text_printf(out, "%s: ", metric_title(metric));
	text_add_figure(out, metric, figure_value(tree->nodes.data[0].total), profile->base);
	if (profile->base) {
		text_add(out, ", from ");
		text_add_figure(out, metric, (int64_t)tree->nodes.data[0].total.base, false);
		text_add(out, "; widths are of both together, orange is more, blue is less");
	}
}

/* What ends at a node: stacks that go no further. */
static struct figure flame_parts_end_of(
	const struct calltree *tree, const struct calltree_node *node)
{
	struct figure left = node->total;
	for (uint32_t i = 0; i < node->children; i++) {
		left.now -= calltree_child(tree, node, i)->total.now;
		left.base -= calltree_child(tree, node, i)->total.base;
	}
	return left;
}

static void add_folded(struct text *out, const struct profile *profile, const struct calltree *tree,
	const struct calltree_node *node, uint32_t *path)
{
	const struct calltree_nodes *nodes = &tree->nodes;
	uint32_t at = (uint32_t)(node - nodes->data);
	for (uint32_t i = node->depth; i > 0; i--, at = nodes->data[at].parent)
		path[i - 1] = at;
	for (uint32_t i = 0; i < node->depth; i++) {
		size_t start = out->len;
		add_whole_label(out, tree, &nodes->data[path[i]]);
		for (size_t k = start; !out->failed && k < out->len; k++)
			if (out->data[k] == ';' || out->data[k] == '\n')
				out->data[k] = ',';
		text_add_char(out, i + 1 < node->depth ? ';' : ' ');
	}
	struct figure end = flame_parts_end_of(tree, node);
	if (profile->base)
		text_printf(out, "%" PRIu64 " ", end.base);
	text_printf(out, "%" PRIu64 "\n", end.now);
}

/* Bytes that are handed on at a time. */
#define PIECE_BYTES ((size_t)64 << 10)

struct error *flame_write_folded(
	const struct profile *profile, const struct calltree *tree, const struct sink *sink)
{
	const struct calltree_nodes *nodes = &tree->nodes;
	uint32_t deepest = 0;
	for (size_t i = 0; i < nodes->len; i++)
		deepest = nodes->data[i].depth > deepest ? nodes->data[i].depth : deepest;
	_cleanup_free_ uint32_t *path = calloc(deepest + 1, sizeof(*path));
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	if (!path)
		return error_no_memory();
	for (size_t i = 1; i < nodes->len && !out.failed; i++) {
		const struct calltree_node *node = &nodes->data[i];
		struct figure end = flame_parts_end_of(tree, node);
		if (end.now || end.base)
			add_folded(&out, profile, tree, node, path);
		if (out.len < PIECE_BYTES)
			continue;
		if (!sink->write(sink->ctx, out.data, out.len))
			return NULL;
		text_clear(&out);
	}
	if (out.failed)
		return error_no_memory();
	if (out.len)
		sink->write(sink->ctx, out.data, out.len);
	return NULL;
}
