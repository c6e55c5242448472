/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of pprof made by hand: what is read of them, and what is refused. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "lib/tap.h"
#include "sources/source.h"

#define NO_FIELD 0

static void put_number(struct buf *out, unsigned field, uint64_t value)
{
	buf_varint(out, field << 3);
	buf_varint(out, value);
}

static void put_bytes(struct buf *out, unsigned field, const void *data, size_t len)
{
	buf_varint(out, field << 3 | 2);
	buf_varint(out, len);
	buf_bytes(out, data, len);
}

/* A message of up to three numbers; field 0: no more. */
static void put_message(struct buf *out, unsigned field, const uint64_t (*numbers)[2], size_t count)
{
	_cleanup_(buf_deinit) struct buf message;
	buf_init(&message);
	for (size_t i = 0; i < count; i++)
		if (numbers[i][0] != NO_FIELD)
			put_number(&message, (unsigned)numbers[i][0], numbers[i][1]);
	put_bytes(out, field, message.data, message.len);
}

#define MESSAGE(out, field, ...)                                                                   \
	do {                                                                                       \
		const uint64_t numbers_[][2] = {__VA_ARGS__};                                      \
		put_message(out, field, numbers_, sizeof(numbers_) / sizeof(numbers_[0]));         \
	} while (0)

/* Strings 1 to 8. */
static void put_strings(struct buf *out)
{
	static const char *const strings[] = {"", "inuse_objects", "count", "inuse_space", "bytes",
		"main", "main.c", "/bin/app", "_Z3foov"};
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		put_bytes(out, 6, strings[i], strlen(strings[i]));
}

/* Types, a mapping, two functions and a location that has both, one inlined. */
static void put_tables(struct buf *out)
{
	put_strings(out);
	MESSAGE(out, 1, {1, 1}, {2, 2});
	MESSAGE(out, 1, {1, 3}, {2, 4});
	MESSAGE(out, 3, {1, 1}, {2, 0x1000}, {3, 0x9000}, {5, 7});
	MESSAGE(out, 5, {1, 10}, {2, 5}, {4, 6});
	MESSAGE(out, 5, {1, 11}, {2, 8}, {3, 8});
	_cleanup_(buf_deinit) struct buf location;
	buf_init(&location);
	put_number(&location, 1, 100);
	put_number(&location, 2, 1);
	put_number(&location, 3, 0x2000);
	MESSAGE(&location, 4, {1, 11}, {2, 7});
	MESSAGE(&location, 4, {1, 10}, {2, 42});
	put_bytes(out, 4, location.data, location.len);
}

static void put_sample(struct buf *out, uint64_t location, uint64_t blocks, uint64_t bytes)
{
	_cleanup_(buf_deinit) struct buf sample;
	buf_init(&sample);
	put_number(&sample, 1, location);
	put_number(&sample, 2, blocks);
	put_number(&sample, 2, bytes);
	put_bytes(out, 2, sample.data, sample.len);
}

static void check_refused(const struct buf *profile, const char *part)
{
	struct model *model = NULL;
	CHECK_ERROR(
		source_open_bytes("p", profile->data, profile->len, 0, &model), ERROR_INPUT, part);
}

CASE(small_profile, "functions, lines and inlined ones are kept as the file has them")
{
	_cleanup_(buf_deinit) struct buf profile;
	_cleanup_(model_cleanup) struct model *model = NULL;
	buf_init(&profile);
	put_tables(&profile);
	put_sample(&profile, 100, 3, 300);
	put_sample(&profile, 100, 1, 50);
	CHECK_OK(source_open_bytes("p", profile.data, profile.len, 0, &model));
	CHECK_STR(model_recording(model)->source, "pprof");
	CHECK_U64(model_totals(model)->live_blocks, 4);
	CHECK_U64(model_totals(model)->live_bytes, 350);
	CHECK(model_recording(model)->unknown & UNKNOWN_ALLOCATIONS);
	CHECK(!(model_recording(model)->unknown & UNKNOWN_LIVE_BYTES));
	size_t count;
	const struct site *sites = model_sites(model, &count);
	CHECK_U64(count, 1);
	struct stack_node node = model_stack(model, sites[0].stack);
	CHECK_U64(node.address, 0x2001);
	const struct embedded_run *run = model_embedded(model, node);
	CHECK(run && run->count == 2);
	CHECK_STR(run->frames[0].function, "foo");
	CHECK_STR(run->frames[0].raw_name, "_Z3foov");
	CHECK(run->frames[0].inlined && !run->frames[1].inlined);
	CHECK_STR(run->frames[1].function, "main");
	CHECK_STR(run->frames[1].file, "main.c");
	CHECK_U64(run->frames[1].line, 42);
	CHECK_STR(model_module(model, node.module)->path, "/bin/app");
}

CASE(many_modules, "more modules than have numbers are refused, by the file's name")
{
	_cleanup_(buf_deinit) struct buf profile;
	buf_init(&profile);
	put_tables(&profile);
	/* Strings from 9 on. */
	for (uint64_t i = 0; i < 70000; i++) {
		char name[20];
		int len = snprintf(name, sizeof(name), "/lib/%u", (unsigned)i);
		put_bytes(&profile, 6, name, (size_t)len);
		MESSAGE(&profile, 3, {1, i + 2}, {5, i + 9});
	}
	check_refused(&profile, "p: has more than 65535 programs and libraries");
}

CASE(unread, "labels and values that have no place here are named")
{
	_cleanup_(buf_deinit) struct buf profile, sample;
	_cleanup_(model_cleanup) struct model *model = NULL;
	buf_init(&profile);
	buf_init(&sample);
	put_tables(&profile);
	MESSAGE(&profile, 1, {1, 7}, {2, 2});
	for (uint64_t value = 1; value < 4; value++)
		put_number(&sample, 2, value);
	MESSAGE(&sample, 3, {1, 4}, {3, 2});
	MESSAGE(&sample, 3, {1, 5}, {2, 6});
	MESSAGE(&sample, 3, {1, 6}, {3, 2});
	MESSAGE(&sample, 3, {1, 5}, {2, 7});
	put_bytes(&profile, 2, sample.data, sample.len);
	CHECK_OK(source_open_bytes("p", profile.data, profile.len, 0, &model));
	CHECK_STR(model_recording(model)->remark,
		"Ignored in this profile: values /bin/app; labels main, main.c.");
}

CASE(go_period, "Go's runtime samples more often than a rate above 112 MiB says, which is said")
{
	static const struct {
		uint64_t period;
		const char *says;
	} files[] = {{0x7000000, NULL}, {1ull << 30, "too high, up to 9.1 times"}};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		_cleanup_(buf_deinit) struct buf profile;
		_cleanup_(model_cleanup) struct model *model = NULL;
		buf_init(&profile);
		put_tables(&profile);
		MESSAGE(&profile, 11, {1, 3}, {2, 4});
		put_number(&profile, 12, files[i].period);
		CHECK_OK(source_open_bytes("p", profile.data, profile.len, 0, &model));
		const char *remark = model_recording(model)->remark;
		CHECK(files[i].says ? remark && strstr(remark, files[i].says) : !remark);
	}
}

CASE(many_unread, "of more labels than are named the remark says that there are others")
{
	_cleanup_(buf_deinit) struct buf profile, sample;
	_cleanup_(model_cleanup) struct model *model = NULL;
	buf_init(&profile);
	buf_init(&sample);
	put_tables(&profile);
	for (unsigned i = 0; i < 13; i++) { /* strings from 9 on */
		char name[20];
		int len = snprintf(name, sizeof(name), "l%u", i);
		put_bytes(&profile, 6, name, (size_t)len);
		MESSAGE(&sample, 3, {1, i + 9}, {3, 2});
	}
	for (uint64_t value = 1; value < 3; value++)
		put_number(&sample, 2, value);
	put_bytes(&profile, 2, sample.data, sample.len);
	CHECK_OK(source_open_bytes("p", profile.data, profile.len, 0, &model));
	CHECK_STR(model_recording(model)->remark,
		"Ignored in this profile: labels l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, "
		"….");
}

CASE(dangling_ids, "ids of what is not there are refused")
{
	_cleanup_(buf_deinit) struct buf profile;
	buf_init(&profile);
	put_tables(&profile);
	put_sample(&profile, 101, 1, 1);
	check_refused(&profile, "refers to the missing location 101");
	buf_clear(&profile);
	put_tables(&profile);
	MESSAGE(&profile, 4, {1, 101}, {2, 9});
	put_sample(&profile, 101, 1, 1);
	check_refused(&profile, "refers to the missing mapping 9");
	buf_clear(&profile);
	put_tables(&profile);
	MESSAGE(&profile, 4, {1, 100}, {2, 1});
	check_refused(&profile, "two locations have the id 100");
	buf_clear(&profile);
	put_tables(&profile);
	MESSAGE(&profile, 3, {1, 2}, {5, 4000});
	check_refused(&profile, "string 4000 is named");
}

CASE(absurd_values, "sums above 2^64 are refused")
{
	_cleanup_(buf_deinit) struct buf profile;
	buf_init(&profile);
	put_tables(&profile);
	for (int i = 0; i < 4; i++)
		put_sample(&profile, 100, 1, INT64_MAX);
	check_refused(&profile, "add up to more than 2^64");
}

CASE(difference, "what is below 0 is apart, to be subtracted")
{
	_cleanup_(buf_deinit) struct buf profile;
	buf_init(&profile);
	put_tables(&profile);
	put_sample(&profile, 100, 2, (uint64_t)-500);
	put_sample(&profile, 100, (uint64_t)-3, 70);
	_cleanup_(model_cleanup) struct model *model = NULL;
	CHECK_OK(source_open_bytes("p", profile.data, profile.len, 0, &model));
	CHECK_U64(model_totals(model)->live_blocks, 2);
	CHECK_U64(model_totals(model)->live_bytes, 70);
	const struct model *below = model_subtracted(model);
	CHECK(below && !model_subtracted(below));
	CHECK_U64(model_totals(below)->live_blocks, 3);
	CHECK_U64(model_totals(below)->live_bytes, 500);
}

CASE(other_profiles, "profiles of other things are refused with what they are")
{
	_cleanup_(buf_deinit) struct buf profile;
	buf_init(&profile);
	put_strings(&profile);
	MESSAGE(&profile, 1, {1, 5}, {2, 2});
	check_refused(&profile, "it has main/count");
}

CASE(cut_profile, "a profile that is cut anywhere is refused or has whole samples alone")
{
	_cleanup_(buf_deinit) struct buf profile;
	buf_init(&profile);
	put_tables(&profile);
	put_sample(&profile, 100, 3, 300);
	for (size_t len = 1; len < profile.len; len++) {
		struct model *model = NULL;
		struct error *error = source_open_bytes("p", profile.data, len, 0, &model);
		CHECK(error || model_totals(model)->live_bytes == 0);
		CHECK(!error || error->code == ERROR_INPUT);
		error_destroy(error);
		model_destroy(model);
	}
}

CASE(no_moments, "a profile has no moments and no threads, and says so")
{
	_cleanup_(buf_deinit) struct buf profile;
	buf_init(&profile);
	put_tables(&profile);
	put_sample(&profile, 100, 3, 300);
	struct model *model = NULL;
	const struct source_query peak = {.to = {.kind = SOURCE_PEAK}};
	CHECK_ERROR(source_open_bytes_query("p", profile.data, profile.len, 0, &peak, &model),
		ERROR_INPUT, "contains only one snapshot");
	const struct source_blocks of_thread = {.thread = "main"};
	const struct source_query thread = {.to = {.kind = SOURCE_END}, .blocks = &of_thread};
	CHECK_ERROR(source_open_bytes_query("p", profile.data, profile.len, 0, &thread, &model),
		ERROR_INPUT, "does not record threads");
	const struct source_blocks large = {.min_size = 100};
	const struct source_query sized = {.to = {.kind = SOURCE_END}, .blocks = &large};
	CHECK_OK(source_open_bytes_query("p", profile.data, profile.len, 0, &sized, &model));
	CHECK_U64(model_totals(model)->live_bytes, 300);
	model_destroy(model);
}

TAP_MAIN
