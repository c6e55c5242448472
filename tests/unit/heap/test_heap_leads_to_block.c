/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What leads to one block, found without typing all others, is what is found with all others typed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap/leads_to_block.h"
#include "heap/why.h"
#include "lib/tap.h"
#include "process/stop.h"

#define LAYERS 16u
#define BLOCKS_MOST 256u

/* samples/leading.c, which stands still, and its heap. */
struct tracked_process {
	pid_t pid;
	struct stopped stopped;
	struct address_space space;
	struct heap_names names;
	struct {
		uint64_t address;
		bool is_sure;
	} blocks[BLOCKS_MOST];
	unsigned count;
};

/* Its output, in the tests' own process. */
static FILE *start(struct tracked_process *s)
{
	const char *build = getenv("HW_BUILD_DIR");
	char path[4096];
	int ends[2];
	snprintf(path, sizeof(path), "%s/tests/unit/leading", build ? build : ".");
	CHECK(!pipe(ends));
	s->pid = fork();
	CHECK(s->pid >= 0);
	if (!s->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	return fdopen(ends[0], "r");
}

static void begin(struct tracked_process *s)
{
	char line[64];
	FILE *file = start(s);
	CHECK(file);
	while (fgets(line, sizeof(line), file) && *line != '\n') {
		char *end;
		CHECK(s->count < BLOCKS_MOST);
		s->blocks[s->count].address = strtoull(line, &end, 16);
		s->blocks[s->count++].is_sure = atoi(end);
	}
	CHECK(*line == '\n' && s->count > 20);
	fclose(file);
	stop_init(&s->stopped, s->pid);
	CHECK_OK(stop_process(&s->stopped));
	CHECK_OK(address_space_of_process(&s->stopped, s->pid, &s->space));
	CHECK_OK(heap_names_open(NULL, NULL, &s->names));
}

static void end(struct tracked_process *s)
{
	heap_names_close(&s->names);
	address_space_close(&s->space);
	stop_end(&s->stopped);
	stop_deinit(&s->stopped);
	kill(s->pid, SIGKILL);
	CHECK(waitpid(s->pid, NULL, 0) == s->pid);
}

static const char *type_name(const struct heap_scan *scan, uint32_t type)
{
	return scan->types.types.data[type].name;
}

static void check_same(const struct heap_scan *whole, const struct why *all,
	const struct heap_scan *few, const struct why *one)
{
	CHECK_U64(one->asked_blocks, all->asked_blocks);
	CHECK_U64(one->asked_bytes, all->asked_bytes);
	CHECK_U64(one->layers, all->layers);
	CHECK(one->cut == all->cut);
	CHECK_U64(one->rows.len, all->rows.len);
	for (size_t i = 0; i < all->rows.len && i < one->rows.len; i++) {
		const struct why_row *a = &all->rows.data[i], *b = &one->rows.data[i];
		CHECK_STR(type_name(few, b->type), type_name(whole, a->type));
		CHECK_STR(type_name(few, b->target_type), type_name(whole, a->target_type));
		CHECK_U64(b->layer, a->layer);
		CHECK_U64(b->blocks, a->blocks);
		CHECK_U64(b->example, a->example);
		CHECK_U64(b->offset, a->offset);
		CHECK_U64(b->target, a->target);
		CHECK_U64(b->into, a->into);
		CHECK(b->repeats == a->repeats);
	}
	CHECK_U64(one->roots.len, all->roots.len);
	for (size_t i = 0; i < all->roots.len && i < one->roots.len; i++) {
		CHECK_U64(one->roots.data[i].layer, all->roots.data[i].layer);
		CHECK_U64(one->roots.data[i].address, all->roots.data[i].address);
		CHECK_U64(one->roots.data[i].target, all->roots.data[i].target);
	}
}

/* Whether it was told without the others. */
static bool check_block(struct tracked_process *s, const struct heap_scan *whole, uint64_t address)
{
	struct heap_scan scan;
	struct reverse reverse;
	struct why all, one;
	uint32_t block = SPACE_NONE, same = SPACE_NONE;
	uint64_t offset;
	CHECK_OK(heap_scan_open(
		&s->space, &s->names, POINTERS_ALIGNED, SEARCH_HEURISTICS_ALL, &scan));
	CHECK_OK(leads_to_block_type(&scan, address, &reverse));
	block = search_block_at(scan.search, address, &offset);
	same = search_block_at(whole->search, address, &offset);
	CHECK(block != SPACE_NONE && block == same);
	CHECK_OK(heap_why(whole, same, NULL, NULL, LAYERS, NULL, &all));
	CHECK_OK(heap_why(&scan, block, NULL, NULL, LAYERS, reverse.heads ? &reverse : NULL, &one));
	check_same(whole, &all, &scan, &one);
	bool is_told = reverse.heads;
	reverse_free(&reverse);
	heap_why_deinit(&all);
	heap_why_deinit(&one);
	heap_scan_close(&scan);
	return is_told;
}

CASE(same, "what leads to a block is the same without the types of all others, and told so if it "
	   "is sure")
{
	struct tracked_process *subject = calloc(1, sizeof(*subject));
	struct heap_scan whole;
	begin(subject);
	CHECK_OK(heap_scan_open(
		&subject->space, &subject->names, POINTERS_ALIGNED, SEARCH_HEURISTICS_ALL, &whole));
	CHECK_OK(heap_scan_find_types(&whole));
	for (unsigned i = 0; i < subject->count; i++) {
		bool is_told = check_block(subject, &whole, subject->blocks[i].address);
		CHECK(is_told || !subject->blocks[i].is_sure);
	}
	heap_scan_close(&whole);
	end(subject);
	free(subject);
}

TAP_MAIN
