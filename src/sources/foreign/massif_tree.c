/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/massif_tree.h"

#include <stdlib.h>
#include <string.h>

#include "sources/foreign/foreign_scan.h"
#include "sources/foreign/valgrind_text.h"

/* Massif itself goes no deeper than 200 (--depth). */
#define DEPTH_MAX 4096u
/* No compiler inlines deeper. */
#define INLINED_MAX 64u

void massif_tree_init(struct massif_tree *tree)
{
	*tree = (struct massif_tree){.begun = false};
}

void massif_tree_deinit(struct massif_tree *tree)
{
	massif_nodes_deinit(&tree->path);
	massif_shares_deinit(&tree->sites);
}

void massif_tree_clear(struct massif_tree *tree)
{
	massif_nodes_clear(&tree->path);
	massif_shares_clear(&tree->sites);
	tree->bytes = 0;
	tree->begun = false;
}

static struct valgrind_frame frame_of(const struct massif_tree *tree, size_t depth)
{
	const char *text = tree->path.data[depth].text;
	return valgrind_frame_of(text, strlen(text));
}

/*
 * Where the functions begin that are inlined into the one at a depth of the path: levels with its
 * address. The same function again is a call of itself.
 */
static size_t find_inlined(const struct massif_tree *tree, size_t depth)
{
	uint64_t address = frame_of(tree, depth).address;
	size_t first = depth;
	while (address && first > 1 && depth - first < INLINED_MAX - 1 &&
		frame_of(tree, first - 1).address == address) {
		for (size_t i = first; i <= depth; i++)
			if (tree->path.data[i].text == tree->path.data[first - 1].text)
				return first;
		first--;
	}
	return first;
}

/* The stack of the last node of the path: levels 1 and deeper, the deepest one is the outermost. */
static struct error *make_stack(
	const struct massif_tree *tree, struct foreign *foreign, struct stack_id *ret)
{
	*ret = (struct stack_id){0};
	struct error *error = NULL;
	for (size_t depth = tree->path.len - 1; depth > 0 && !error;) {
		struct valgrind_frame functions[INLINED_MAX];
		size_t first = find_inlined(tree, depth);
		struct foreign_frame frame;
		for (size_t i = first; i <= depth; i++)
			functions[i - first] = frame_of(tree, i);
		error = valgrind_frame_make(foreign, functions, depth - first + 1, &frame);
		if (!error)
			error = foreign_push(foreign, *ret, frame, ret);
		depth = first - 1;
	}
	return error;
}

static struct error *add_share(struct massif_tree *tree, struct foreign *foreign, uint64_t bytes)
{
	struct stack_id stack;
	struct site_id site;
	struct error *error = make_stack(tree, foreign, &stack);
	if (!error)
		error = foreign_site(foreign, stack, KIND_UNKNOWN, &site);
	if (error)
		return error;
	struct series_site share = {.site = site, .live_bytes = bytes};
	return massif_shares_push(&tree->sites, share) ? NULL : error_no_memory();
}

/* Leaves nodes that have all of their children. */
static struct error *massif_tree_leave(struct massif_tree *tree, struct foreign *foreign)
{
	while (tree->path.len) {
		const struct massif_node *node = &tree->path.data[tree->path.len - 1];
		if (node->children)
			return NULL;
		if (node->bytes) {
			struct error *error = add_share(tree, foreign, node->bytes);
			if (error)
				return error;
		}
		tree->path.len--;
	}
	return NULL;
}

static struct error *massif_tree_enter(struct massif_tree *tree, const struct stream *stream,
	size_t depth, const struct massif_node *node)
{
	if (!tree->begun && depth == 0) {
		tree->begun = true;
		tree->bytes = node->bytes;
	} else if (depth != tree->path.len || !depth) {
		return stream_error(stream, "is indented by %zu; expected a node of depth %zu",
			depth, tree->path.len);
	} else {
		struct massif_node *parent = &tree->path.data[depth - 1];
		if (node->bytes > parent->bytes)
			return stream_error(stream, "has more bytes than its parent has left");
		parent->bytes -= node->bytes;
		parent->children--;
	}
	if (depth >= DEPTH_MAX)
		return stream_error(stream, "is deeper than %u levels", DEPTH_MAX);
	return massif_nodes_push(&tree->path, *node) ? NULL : error_no_memory();
}

struct error *massif_tree_line(struct massif_tree *tree, struct foreign *foreign,
	const struct stream *stream, const char *line, size_t len)
{
	struct foreign_scan scan = foreign_scan_of(line, len);
	struct massif_node node;
	foreign_scan_blanks(&scan);
	size_t depth = (size_t)(scan.at - line);
	if (!foreign_scan_text(&scan, "n") || !foreign_scan_u64(&scan, &node.children) ||
		!foreign_scan_text(&scan, ":") || !foreign_scan_u64(&scan, &node.bytes) ||
		!foreign_scan_text(&scan, " "))
		return stream_error(stream, "invalid tree node: expected 'nCHILDREN: BYTES FRAME'");
	struct error *error = strings_keep(&foreign->names, scan.at, &node.text);
	if (!error)
		error = massif_tree_enter(tree, stream, depth, &node);
	return error ? error : massif_tree_leave(tree, foreign);
}

static int compare_sites(const void *left, const void *right)
{
	const struct series_site *a = left, *b = right;
	return a->site.value < b->site.value ? -1 : a->site.value > b->site.value;
}

void massif_tree_end(struct massif_tree *tree)
{
	struct massif_shares *sites = &tree->sites;
	size_t kept = 0;
	if (sites->len)
		qsort(sites->data, sites->len, sizeof(*sites->data), compare_sites);
	/* Shares of one root add up to less than 2^64. */
	for (size_t i = 0; i < sites->len; i++)
		if (kept && sites->data[kept - 1].site.value == sites->data[i].site.value)
			sites->data[kept - 1].live_bytes += sites->data[i].live_bytes;
		else
			sites->data[kept++] = sites->data[i];
	sites->len = kept;
}
