/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a forked process began with, from its parents' recordings: honest ones, and some that are
 * not. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/hpw_stories.h"
#include "lib/tap.h"
#include "sources/source.h"

#define _cleanup_model_ _cleanup_(model_cleanup) __attribute__((unused))

static char folder[64];

static const char *path_of(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void setup(void)
{
	snprintf(folder, sizeof(folder), "/tmp/inherited-XXXXXX");
	CHECK(mkdtemp(folder));
}

static void teardown(void)
{
	unlink(path_of("parent.hpw"));
	unlink(path_of("middle.hpw"));
	unlink(path_of("child.hpw"));
	CHECK(!rmdir(folder));
}

/* At the mark two blocks of 100 bytes live at site 0, and one of 40 at site 1. */
#define STEPS(mark)                                                                                \
	{                                                                                          \
		{.op = STORY_ALLOC, .block = 1, .site = 0, .size = 100},                           \
			{.op = STORY_ALLOC, .block = 2, .site = 1, .size = 40},                    \
			{.op = STORY_ALLOC, .block = 3, .site = 0, .size = 100},                   \
			{.op = STORY_ALLOC, .block = 4, .site = 0, .size = 100},                   \
			{.op = STORY_FREE, .block = 3, .free_kind = -1},                           \
			{.op = STORY_MARK, .name = mark},                                          \
			{.op = STORY_ALLOC, .block = 5, .site = 1, .size = 7},                     \
			{.op = STORY_FREE, .block = 1, .free_kind = -1},                           \
	}

static void put(const char *name, const struct story_step *steps, size_t count, uint64_t forked_at,
	const char *parent)
{
	struct story story = story_small;
	story.steps = steps;
	story.steps_len = count;
	story.forked_at = forked_at;
	story.parent_file = parent;
	struct builder builder;
	struct story_truth truth;
	builder_init(&builder);
	builder_story(&builder, &story, &truth);
	_cleanup_fclose_ FILE *file = fopen(path_of(name), "w");
	CHECK(file && fwrite(builder.file.data, 1, builder.file.len, file) == builder.file.len);
	builder_deinit(&builder);
}

static struct model *open_child(void)
{
	struct model *model;
	CHECK_OK(source_open_with(path_of("child.hpw"), SOURCE_WITH_INHERITED, &model));
	return model;
}

static const struct story_step parent_steps[] = STEPS("fork:2a");
static const struct story_step middle_steps[] = STEPS("fork:3b");
static const struct story_step own_steps[] = {
	{.op = STORY_ALLOC, .block = 1, .site = 1, .size = 9},
	{.op = STORY_UNKNOWN, .free_kind = HW_FREE},
};
#define COUNT(steps) (sizeof(steps) / sizeof((steps)[0]))

CASE(at_the_fork, "what is live at the fork's mark, by the parent's stacks, and nothing of later")
{
	setup();
	put("parent.hpw", parent_steps, COUNT(parent_steps), 0, NULL);
	put("child.hpw", own_steps, COUNT(own_steps), 0x2a, "parent.hpw");
	_cleanup_model_ struct model *model = open_child();
	const struct inherited *inherited = model_inherited(model);
	CHECK_STR(inherited->from, "parent.hpw");
	CHECK_U64(inherited->blocks, 3);
	CHECK_U64(inherited->bytes, 240);
	CHECK_U64(inherited->generations, 1);
	CHECK(!inherited->at_most && !inherited->problem);
	size_t count;
	const struct site *sites = model_inherited_sites(model, &count);
	CHECK_U64(count, 2);
	CHECK_U64(sites[0].live_blocks, 2);
	CHECK_U64(sites[0].live_bytes, 200);
	CHECK_U64(sites[1].live_bytes, 40);
	size_t own;
	const struct site *mine = model_sites(model, &own);
	struct stack_node a = model_stack(model, sites[0].stack),
			  b = model_stack(model, mine[0].stack);
	CHECK(sites[0].stack.value != mine[0].stack.value);
	CHECK_U64(a.address, b.address);
	CHECK_STR(model_module(model, a.module)->path, model_module(model, b.module)->path);
	CHECK_U64(model_totals(model)->live_bytes, 9);
	CHECK_U64(model_recording(model)->inherited_frees, 1);
	teardown();
}

CASE(only_if_asked, "nobody reads a parent's recording without being asked to")
{
	setup();
	put("child.hpw", own_steps, COUNT(own_steps), 0x2a, "parent.hpw");
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(source_open(path_of("child.hpw"), &model));
	CHECK(!model_inherited(model)->from && !model_inherited(model)->problem);
	teardown();
}

CASE(grandparent, "the parent's parent's blocks too; at most, if the parent had freed some")
{
	setup();
	struct story_step freed[COUNT(middle_steps) + 1] = {
		{.op = STORY_UNKNOWN, .free_kind = HW_FREE}};
	memcpy(freed + 1, middle_steps, sizeof(middle_steps));
	put("parent.hpw", parent_steps, COUNT(parent_steps), 0, NULL);
	put("child.hpw", own_steps, COUNT(own_steps), 0x3b, "middle.hpw");
	for (int i = 0; i < 2; i++) {
		put("middle.hpw", freed + !i, COUNT(freed) - !i, 0x2a, "parent.hpw");
		_cleanup_model_ struct model *model = open_child();
		const struct inherited *inherited = model_inherited(model);
		CHECK_STR(inherited->from, "middle.hpw");
		CHECK_U64(inherited->blocks, 6);
		CHECK_U64(inherited->generations, 2);
		CHECK_U64(inherited->at_most, i);
	}
	teardown();
}

static void check_problem(const char *part)
{
	_cleanup_model_ struct model *model = open_child();
	const struct inherited *inherited = model_inherited(model);
	CHECK(inherited->problem);
	CHECK_CONTAINS(inherited->problem, part);
	CHECK(!inherited->from);
	CHECK_U64(inherited->blocks, 0);
	CHECK(model_recording(model)->complete);
	CHECK_U64(model_totals(model)->allocations, 1);
}

CASE(not_known, "a parent's recording that is missing, another's, or cut is said, and no more")
{
	setup();
	put("child.hpw", own_steps, COUNT(own_steps), 0x2a, "parent.hpw");
	check_problem("No such file");
	put("parent.hpw", own_steps, COUNT(own_steps), 0, NULL);
	check_problem("the fork is not among its events");
	struct story_step lost[COUNT(parent_steps) + 1] = {{.op = STORY_LOST, .size = 1}};
	memcpy(lost + 1, parent_steps, sizeof(parent_steps));
	put("parent.hpw", lost, COUNT(lost), 0, NULL);
	check_problem("events were lost");
	put("parent.hpw", parent_steps, COUNT(parent_steps), 0, NULL);
	CHECK(!truncate(path_of("parent.hpw"), 150));
	check_problem("process is unknown");
	teardown();
}

CASE(outside, "a parent's name that leads out of the folder is not followed")
{
	setup();
	static const char *const names[] = {"../parent.hpw", "/etc/passwd", "..", ""};
	for (size_t i = 0; i < COUNT(names); i++) {
		put("child.hpw", own_steps, COUNT(own_steps), 0x2a, names[i]);
		check_problem("the recording does not name the parent's");
	}
	teardown();
}

CASE(own_parent, "a recording that is its own parent ends the search")
{
	setup();
	put("child.hpw", parent_steps, COUNT(parent_steps), 0x2a, "child.hpw");
	_cleanup_model_ struct model *model = open_child();
	CHECK_U64(model_inherited(model)->generations, 1);
	CHECK(model_inherited(model)->problem);
	CHECK_CONTAINS(model_inherited(model)->problem, "partly unknown");
	teardown();
}

TAP_MAIN
