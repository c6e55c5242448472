/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare_stacks RECORDING OPINIONS: holds the stack of each allocation that lib/second_opinion.c
 * took stacks of against the recorded one, address by address. Prints a line of sums and, for the
 * first few differences of each sort, the three stacks. Exit status 0 if at least 999 of 1,000
 * stacks are what libgcc or libunwind says, and every one was found in the recording.
 *
 * A recorded stack that is marked as cut counts as equal if it is the inner part of the other's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/util.h"
#include "base/vec.h"
#include "sources/events/hpw_events.h"
#include "sources/source.h"

enum { HEAD_WORDS = 4, SHOWN_OF_A_SORT = 3 };
#define INTERRUPTED (UINT64_C(1) << 63)

/* One allocation's stacks, in the file's words. */
struct opinion {
	uint64_t tid, number;
	const uint64_t *unwind, *gcc;
	uint64_t unwind_len, gcc_len;
};
DEFINE_VEC(opinion_vec, struct opinion)
DEFINE_VEC(address_vec, uint64_t)

enum sort { SAME_AS_BOTH, SAME_AS_GCC, SAME_AS_UNWIND, SAME_AS_NONE, OTHERS_AGREE, SORTS };

static const char *const sort_names[SORTS] = {
	[SAME_AS_BOTH] = "equal to both",
	[SAME_AS_GCC] = "equal to libgcc's alone",
	[SAME_AS_UNWIND] = "equal to libunwind's alone",
	[SAME_AS_NONE] = "equal to neither, which differ",
	[OTHERS_AGREE] = "equal to neither, which agree",
};

struct comparison {
	struct model *model;
	struct opinion_vec opinions; /* by thread id and number */
	struct address_vec ours;
	bool cut, guessed; /* ours */
	uint64_t counts[SORTS], frames, guesses, cuts;
};

static void must(struct error *error)
{
	if (!error)
		return;
	printf("%s\n", error->message);
	exit(1);
}

static int compare_opinions(const void *left, const void *right)
{
	const struct opinion *a = left, *b = right;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void read_opinions(struct opinion_vec *ret, const uint64_t *words, size_t len)
{
	for (size_t at = 0; at + HEAD_WORDS <= len;) {
		const uint64_t *head = words + at;
		struct opinion opinion = {.tid = head[0],
			.number = head[1],
			.unwind = head + HEAD_WORDS,
			.unwind_len = head[2],
			.gcc = head + HEAD_WORDS + head[2],
			.gcc_len = head[3]};
		at += HEAD_WORDS + head[2] + head[3];
		if (at > len || !opinion_vec_push(ret, opinion)) {
			printf("the file of opinions is broken\n");
			exit(1);
		}
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), compare_opinions);
}

/* Innermost first; an interrupted frame, whose mark stands outward of it, as in the opinions. */
static void read_ours(struct comparison *c, struct stack_id id)
{
	c->ours.len = 0;
	c->cut = c->guessed = false;
	while (id.value) {
		struct stack_node node = model_stack(c->model, id);
		enum stack_mark mark = stack_node_mark(node);
		if (mark == MARK_NONE && !address_vec_push(&c->ours, node.address))
			must(error_no_memory());
		if (mark == MARK_SIGNAL && c->ours.len)
			c->ours.data[c->ours.len - 1] |= INTERRUPTED;
		c->cut |= mark == MARK_DEPTH_LIMIT;
		c->guessed |= mark == MARK_GUESSED;
		id = node.parent;
	}
}

static bool same(const struct comparison *c, const uint64_t *frames, uint64_t len)
{
	size_t ours = c->ours.len;
	if (c->cut ? ours > len : ours != len)
		return false;
	return ours == 0 || memcmp(frames, c->ours.data, ours * sizeof(*frames)) == 0;
}

static const struct module *module_at(const struct model *model, uint64_t address)
{
	for (size_t id = model_module_limit(model); id-- > 1;) {
		const struct module *module = model_module(model, (struct module_id){(uint32_t)id});
		if (address >= module->start && address < module->end)
			return module;
	}
	return NULL;
}

/* A stack, with a star where it is not as ours. */
static void print_stack(
	const struct comparison *c, const char *whose, const uint64_t *frames, uint64_t len)
{
	printf("  %s, %" PRIu64 " frames:", whose, len);
	for (uint64_t i = 0; i < len && i < 60; i++) {
		uint64_t address = frames[i] & ~INTERRUPTED;
		const struct module *module = module_at(c->model, address);
		const char *slash = module ? strrchr(module->path, '/') : NULL;
		const char *name = slash ? slash + 1 : module ? module->path : "?";
		bool differs = i >= c->ours.len || c->ours.data[i] != frames[i];
		printf(" %s%s%s+%#" PRIx64, differs ? "*" : "", name,
			frames[i] & INTERRUPTED ? "!" : "", address - (module ? module->bias : 0));
	}
	printf("\n");
}

static void compare(struct comparison *c, const struct opinion *o, struct stack_id stack)
{
	read_ours(c, stack);
	bool gcc = same(c, o->gcc, o->gcc_len), unwind = same(c, o->unwind, o->unwind_len);
	bool agree = o->gcc_len == o->unwind_len &&
		     memcmp(o->gcc, o->unwind, o->gcc_len * sizeof(*o->gcc)) == 0;
	enum sort sort = gcc && unwind ? SAME_AS_BOTH
			 : gcc         ? SAME_AS_GCC
			 : unwind      ? SAME_AS_UNWIND
			 : agree       ? OTHERS_AGREE
				       : SAME_AS_NONE;
	c->frames += c->ours.len;
	c->guesses += c->guessed;
	c->cuts += c->cut;
	if (++c->counts[sort] > SHOWN_OF_A_SORT || sort == SAME_AS_BOTH)
		return;
	printf("%s: allocation %" PRIu64 " of thread %" PRIu64 "%s%s\n", sort_names[sort],
		o->number, o->tid, c->guessed ? ", guessed in part" : "", c->cut ? ", cut" : "");
	print_stack(c, "ours", c->ours.data, c->ours.len);
	print_stack(c, "libgcc's", o->gcc, o->gcc_len);
	print_stack(c, "libunwind's", o->unwind, o->unwind_len);
}

static struct error *step(void *context, const struct hpw_step *step)
{
	struct comparison *c = context;
	size_t threads, sites;
	const struct thread *thread = model_threads(c->model, &threads);
	const struct site *site = model_sites(c->model, &sites);
	if (step->kind != HPW_STEP_ALLOC || step->thread >= threads || step->site >= sites)
		return NULL;
	struct opinion wanted = {.tid = thread[step->thread].tid, .number = step->number};
	struct opinion *opinion = bsearch(
		&wanted, c->opinions.data, c->opinions.len, sizeof(wanted), compare_opinions);
	if (opinion)
		compare(c, opinion, site[step->site].stack);
	return NULL;
}

static void read_events(struct comparison *c, const char *path)
{
	struct input input;
	struct hpw_file file = {0};
	struct hpw_damage damage = {.model = c->model};
	must(input_open_file(&input, path));
	must(hpw_file_open(&file, &input, &damage));
	struct hpw_visitor visitor = {.context = c, .step = step};
	for (size_t i = 0; i < file.chunks.len; i++) {
		if (file.chunks.data[i].type != HPW_EVENTS)
			continue;
		struct hpw_payload payload = {0};
		must(hpw_file_payload(&file, &file.chunks.data[i], &payload));
		must(hpw_events_decode(&payload, &visitor));
		hpw_payload_deinit(&payload);
	}
	hpw_file_deinit(&file);
	input_close(&input);
}

/* Whether it is good enough. */
static bool print_sums(const struct comparison *c)
{
	uint64_t compared = 0, right = 0;
	for (int sort = 0; sort < SORTS; sort++) {
		compared += c->counts[sort];
		right += sort <= SAME_AS_UNWIND ? c->counts[sort] : 0;
	}
	printf("%" PRIu64 " stacks of %zu compared, %" PRIu64 " frames, %" PRIu64
	       " stacks cut, %" PRIu64 " guessed; %.4f %% equal",
		compared, c->opinions.len, c->frames, c->cuts, c->guesses,
		100.0 * (double)right / (double)max(compared, UINT64_C(1)));
	for (int sort = 0; sort < SORTS; sort++)
		if (c->counts[sort])
			printf("; %s: %" PRIu64, sort_names[sort], c->counts[sort]);
	printf("\n");
	return compared > 0 && compared == c->opinions.len && (compared - right) * 1000 <= compared;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	struct comparison c = {0};
	opinion_vec_init(&c.opinions);
	address_vec_init(&c.ours);
	uint8_t *words = NULL;
	size_t bytes;
	must(source_open(argv[1], &c.model));
	must(read_file(argv[2], 1u << 30, &words, &bytes));
	read_opinions(&c.opinions, (const uint64_t *)(const void *)words, bytes / 8);
	read_events(&c, argv[1]);
	bool good = print_sums(&c);
	free(words);
	opinion_vec_deinit(&c.opinions);
	address_vec_deinit(&c.ours);
	model_destroy(c.model);
	return good ? 0 : 1;
}
