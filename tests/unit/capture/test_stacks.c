/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runtime's tree of call stacks: trees of every form, several who add at once, some of them
 * killed, and tables that are full or became smaller. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring_image.h"
#include "runtime/core/stacks.h"

#define FRAME(n) (1ull << HW_FRAME_ADDRESS_BITS | (0x1000 + (uint64_t)(n)))

static struct rt_stacks stacks_create(uint32_t nodes_max)
{
	void *at = mmap(NULL, HW_SHM_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(at != MAP_FAILED);
	struct hw_shm *shm = at;
	shm->nodes = 1;
	return (struct rt_stacks){.shm = shm,
		.nodes = image_nodes(shm),
		.nodes_max = nodes_max,
		.lines = (struct hw_line *)((char *)at + HW_SHM_LINES),
		.lines_more = (struct hw_line *)((char *)at + HW_SHM_LINES_MORE)};
}

static void stacks_destroy(struct rt_stacks *stacks)
{
	image_destroy(stacks->shm);
}

/* The child, which is what it is said to be. */
static uint32_t child_of(const struct rt_stacks *stacks, uint32_t parent, uint64_t frame)
{
	uint32_t id = rt_stacks_child(stacks, parent, frame);
	CHECK(id > parent && id < stacks->shm->nodes);
	CHECK_U64(stacks->nodes[id].frame, frame);
	CHECK_U64(stacks->nodes[id].parent, parent);
	return id;
}

static uint64_t random_next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* A tree is made of numbers: how its node `n`, from 1, hangs on an earlier one. */
typedef uint32_t parent_fn(uint32_t n);

static uint32_t parent_star(uint32_t n)
{
	return n > 300 ? 300 : n - 1;
}

static uint32_t parent_chain(uint32_t n)
{
	return n - 1;
}

static uint32_t parent_binary(uint32_t n)
{
	return n / 2;
}

static uint32_t parent_any(uint32_t n)
{
	uint64_t random = n * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(random_next(&random) % n);
}

static uint32_t parent_late(uint32_t n)
{
	return n < 256 ? n / 2 : n - 1 - parent_any(n) % 128;
}

static parent_fn *const forms[] = {
	parent_star, parent_chain, parent_binary, parent_any, parent_late};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

/* Adds the tree: frames of children differ by their number, some by the module alone. */
static void tree_add(
	const struct rt_stacks *stacks, parent_fn *parent, uint32_t count, uint32_t *ids)
{
	ids[0] = 0;
	for (uint32_t n = 1; n < count; n++) {
		uint64_t frame = FRAME(n / 2) + ((uint64_t)(n % 2) << HW_FRAME_ADDRESS_BITS);
		ids[n] = child_of(stacks, ids[parent(n)], frame);
	}
}

CASE(forms, "trees of every form: each node gets a number, and the same one ever after")
{
	enum { COUNT = 160000 };
	uint32_t *first = calloc(COUNT, sizeof(*first)), *again = calloc(COUNT, sizeof(*again));
	CHECK(first && again);
	for (size_t i = 0; i < FORMS; i++) {
		struct rt_stacks stacks = stacks_create(HW_NODES_MAX);
		tree_add(&stacks, forms[i], COUNT, first);
		CHECK_U64(stacks.shm->nodes, COUNT);
		for (uint32_t n = 1; n < COUNT; n++)
			CHECK_U64(first[n], n);
		tree_add(&stacks, forms[i], COUNT, again);
		CHECK(!memcmp(first, again, COUNT * sizeof(*first)));
		CHECK_U64(stacks.shm->nodes, COUNT);
		CHECK_U64(stacks.shm->stacks_full, 0);
		stacks_destroy(&stacks);
	}
	free(first);
	free(again);
}

CASE(small, "a small tree touches few pages")
{
	struct rt_stacks stacks = stacks_create(HW_NODES_MAX);
	for (uint32_t n = 1, parent = 0; n < 200; n++)
		parent = child_of(&stacks, n % 20 ? parent : 0, FRAME(n));
	for (uint64_t line = 1u << 8; line < HW_LINES; line++)
		CHECK_U64(stacks.lines[line].entries[0], 0);
	CHECK_U64(stacks.shm->lines_more, HW_LINES_UNUSED);
	stacks_destroy(&stacks);
}

/* --- several at once ------------------------------------------------------------------------- */

#define ADDERS 4
#define TREE 60000

struct adder {
	pthread_t pthread;
	const struct rt_stacks *stacks;
	parent_fn *form;
	uint32_t ids[TREE];
};

static void *adder_run(void *context)
{
	struct adder *adder = context;
	tree_add(adder->stacks, adder->form, TREE, adder->ids);
	return NULL;
}

CASE(threads, "threads that add the same nodes at once agree on their numbers")
{
	static struct adder adders[ADDERS];
	for (size_t form = 0; form < FORMS; form++) {
		struct rt_stacks stacks = stacks_create(HW_NODES_MAX);
		for (int i = 0; i < ADDERS; i++) {
			adders[i].stacks = &stacks;
			adders[i].form = forms[form];
			CHECK(!pthread_create(&adders[i].pthread, NULL, adder_run, &adders[i]));
		}
		for (int i = 0; i < ADDERS; i++)
			CHECK(!pthread_join(adders[i].pthread, NULL));
		uint8_t *seen = calloc(stacks.shm->nodes, 1);
		CHECK(seen);
		for (uint32_t n = 1; n < TREE; n++) {
			for (int i = 1; i < ADDERS; i++)
				CHECK_U64(adders[i].ids[n], adders[0].ids[n]);
			CHECK(!seen[adders[0].ids[n]]++); /* two nodes have two numbers */
		}
		free(seen);
		stacks_destroy(&stacks);
	}
}

/* --- some are killed ------------------------------------------------------------------------- */

static pid_t adder_fork(const struct rt_stacks *stacks)
{
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	static uint32_t ids[1u << 20];
	for (size_t form = 0;; form = (form + 1) % FORMS)
		tree_add(stacks, forms[form], 1u << 20, ids);
}

CASE(killed, "processes that are killed while they add leave a tree that goes on")
{
	enum { KILLS = 25 };
	struct rt_stacks stacks = stacks_create(HW_NODES_MAX);
	uint64_t random = 88172645463325252ull;
	for (unsigned i = 0; i < KILLS; i++) {
		uint32_t before = __atomic_load_n(&stacks.shm->nodes, __ATOMIC_RELAXED);
		pid_t pids[2] = {adder_fork(&stacks), adder_fork(&stacks)};
		uint32_t until = before + 1 + (uint32_t)(random_next(&random) % 5000);
		while (__atomic_load_n(&stacks.shm->nodes, __ATOMIC_RELAXED) < until)
			;
		for (int p = 0; p < 2; p++)
			CHECK(!kill(pids[p], SIGKILL) && waitpid(pids[p], NULL, 0) == pids[p]);
	}
	/* Each node that is found is complete, and those of the dead are taken up. */
	static uint32_t ids[TREE], again[TREE];
	uint32_t dead = stacks.shm->nodes;
	for (size_t form = 0; form < FORMS; form++) {
		tree_add(&stacks, forms[form], TREE, ids);
		tree_add(&stacks, forms[form], TREE, again);
		CHECK(!memcmp(ids, again, sizeof(ids)));
		CHECK(form || ids[400] < dead);
	}
	CHECK_U64(stacks.shm->stacks_full, 0);
	stacks_destroy(&stacks);
}

/* --- full, and smaller ----------------------------------------------------------------------- */

CASE(full, "of a full table a stack ends with the mark, is counted once, and what was there stays")
{
	enum { MAX = 1000 };
	struct rt_stacks stacks = stacks_create(MAX);
	uint32_t ids[MAX] = {0}, count = 1;
	while (!stacks.shm->stacks_full) {
		CHECK(count < MAX);
		ids[count] = rt_stacks_child(&stacks, ids[count - 1], FRAME(count));
		count++;
	}
	uint32_t mark = ids[--count];
	CHECK_U64(stacks.nodes[mark].frame, HW_MARK_TABLE_FULL);
	CHECK_U64(stacks.nodes[mark].parent, ids[count - 1]);
	CHECK_U64(rt_stacks_child(&stacks, mark, FRAME(1)), mark);
	CHECK_U64(stacks.shm->stacks_full, 1);
	CHECK_U64(rt_stacks_child(&stacks, ids[count - 1], FRAME(count)), mark);
	CHECK_U64(stacks.shm->stacks_full, 2);
	for (uint32_t n = 1; n < count; n++)
		CHECK_U64(rt_stacks_child(&stacks, ids[n - 1], FRAME(n)), ids[n]);
	/* Marks fit for some more; then it is the parent. */
	for (uint32_t n = 1; n < count; n++) {
		uint32_t id = rt_stacks_child(&stacks, ids[n], FRAME(0x10000));
		CHECK(id == ids[n] || (stacks.nodes[id].parent == ids[n] &&
					      stacks.nodes[id].frame == HW_MARK_TABLE_FULL));
	}
	CHECK_U64(rt_stacks_child(&stacks, ids[count - 2], FRAME(0x10000)), ids[count - 2]);
	CHECK(stacks.shm->nodes <= MAX);
	stacks_destroy(&stacks);
}

CASE(closed, "without the last tables there is room for a million nodes")
{
	enum { MAX = 1u << 20, COUNT = MAX - 100 };
	uint32_t *first = calloc(COUNT, sizeof(*first)), *again = calloc(COUNT, sizeof(*again));
	CHECK(first && again);
	/* Nearly all in the lines, and all of them in the nodes. */
	static parent_fn *const ends[] = {parent_star, parent_chain};
	for (size_t form = 0; form < 2; form++) {
		struct rt_stacks stacks = stacks_create(MAX);
		CHECK(rt_stacks_close_more(&stacks));
		CHECK(!mprotect(
			stacks.lines_more, HW_LINES_MORE * sizeof(struct hw_line), PROT_NONE));
		tree_add(&stacks, ends[form], COUNT, first);
		tree_add(&stacks, ends[form], COUNT, again);
		CHECK(!memcmp(first, again, COUNT * sizeof(*first)));
		CHECK_U64(stacks.shm->nodes, COUNT);
		CHECK(rt_stacks_close_more(&stacks));
		stacks_destroy(&stacks);
	}
	free(first);
	free(again);
}

CASE(used, "tables that are in use are not closed")
{
	enum { COUNT = 1300000 };
	uint32_t *ids = calloc(COUNT, sizeof(*ids)), *again = calloc(COUNT, sizeof(*again));
	CHECK(ids && again);
	struct rt_stacks stacks = stacks_create(HW_NODES_MAX);
	tree_add(&stacks, parent_late, COUNT, ids);
	CHECK_U64(stacks.shm->lines_more, HW_LINES_USED);
	CHECK(!rt_stacks_close_more(&stacks));
	tree_add(&stacks, parent_late, COUNT, again);
	CHECK(!memcmp(ids, again, COUNT * sizeof(*ids)));
	stacks_destroy(&stacks);
	free(ids);
	free(again);
}

TAP_MAIN
