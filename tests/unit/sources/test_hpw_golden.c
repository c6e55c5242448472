/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of versions 1.0 and 1.1, frozen: files in tests/data/golden, each with a listing that
 * explains every part. HEAPWISE_GOLDEN=update writes them anew, and the fuzzer's seeds beside them.
 * Payloads are not packed: zstd may pack differently from one version to the next.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "lib/hpw_stories.h"
#include "lib/tap.h"
#include "sources/source.h"

#define PATH_BYTES 4096

static void source_path(char *path, const char *folder, const char *name, const char *end)
{
	const char *root = getenv("HW_SOURCE_DIR");
	int len = snprintf(path, PATH_BYTES, "%s/%s/%s%s", root ? root : ".", folder, name, end);
	CHECK(len > 0 && len < PATH_BYTES);
}

static void write_file(const char *path, const void *data, size_t len)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		tap_fail("%s: %s", path, strerror(errno));
	CHECK_OK(write_all(fd, path, data, len));
}

static bool updating(void)
{
	const char *golden = getenv("HEAPWISE_GOLDEN");
	return golden && !strcmp(golden, "update");
}

/* Compares with the file of that name, or writes it. */
static void check_file(const char *name, const char *end, const void *data, size_t len)
{
	char path[PATH_BYTES];
	source_path(path, "tests/data/golden", name, end);
	if (updating())
		write_file(path, data, len);
	_cleanup_free_ uint8_t *golden = NULL;
	size_t golden_len;
	CHECK_OK(read_file(path, 1 << 20, &golden, &golden_len));
	CHECK_U64(golden_len, len);
	CHECK_MEM(golden, data, len);
}

static void write_seed(const char *name, const struct buf *file)
{
	char path[PATH_BYTES];
	source_path(path, "fuzz/seeds/recording", name, "");
	if (updating())
		write_file(path, file->data, file->len);
}

static void check_golden(const char *name, const struct story *story, bool whole)
{
	struct builder builder;
	struct story_truth truth;
	builder_init(&builder);
	builder.features = story->code_len ? HPW_FEATURE_CODE : 0;
	builder_header(&builder);
	builder_tables(&builder, story);
	builder_events(&builder, story, &truth);
	if (whole) {
		builder_footer(&builder, story, &truth);
		builder_index(&builder);
	}
	struct text listing;
	text_init(&listing);
	builder_listing(&builder.file, &listing);
	check_file(name, ".hpw", builder.file.data, builder.file.len);
	check_file(name, ".txt", listing.data, listing.len);
	write_seed(name, &builder.file);
	text_deinit(&listing);
	builder_deinit(&builder);

	char path[PATH_BYTES];
	source_path(path, "tests/data/golden", name, ".hpw");
	struct model *model = NULL;
	CHECK_OK(source_open(path, &model));
	CHECK_U64(model_recording(model)->complete, whole);
	CHECK_U64(model_totals(model)->allocations, truth.allocations);
	CHECK_U64(model_totals(model)->live_bytes, truth.live_bytes);
	CHECK_U64(model_totals(model)->peak_bytes, truth.peak_bytes);
	CHECK_U64(model_totals(model)->temporary, truth.temporary);
	CHECK_U64(model_recording(model)->events, truth.events);
	model_destroy(model);
}

CASE(small, "a small recording")
{
	check_golden("recording-small", &story_small, true);
}

CASE(full, "a recording with every kind of step")
{
	check_golden("recording-full", &story_full, true);
}

CASE(sums, "a recording with the sums of its chunks")
{
	struct story story = story_full;
	story.with_sums = true;
	check_golden("recording-sums", &story, true);
}

CASE(counters, "a recording with the counters that later versions added")
{
	struct story story = story_full;
	story.with_sums = story.with_counters = true;
	check_golden("recording-counters", &story, true);
}

CASE(code, "a recording with names of code made at run time")
{
	check_golden("recording-code", &story_code, true);
}

CASE(frames, "a recording of frames of all kinds, as version 1.1 has them")
{
	check_golden("recording-frames", &story_frames, true);
}

CASE(forked, "a recording of a process that was forked, and forks")
{
	check_golden("recording-forked", &story_forked, true);
}

CASE(unrecorded, "a recording of a process that started programs without one")
{
	check_golden("recording-unrecorded", &story_unrecorded, true);
	struct builder builder;
	struct story_truth truth;
	builder_init(&builder);
	builder_story(&builder, &story_unrecorded, &truth);
	struct model *model = NULL;
	CHECK_OK(source_open_bytes("file", builder.file.data, builder.file.len, 0, &model));
	size_t count;
	const struct unrecorded_program *programs = model_unrecorded(model, &count);
	CHECK_U64(count, story_unrecorded.unrecorded_len);
	CHECK_U64(model_recording(model)->children_unrecorded, count);
	for (size_t i = 0; i < count; i++) {
		const struct story_unrecorded *told = &story_unrecorded.unrecorded[i];
		CHECK_STR(programs[i].path, told->path);
		CHECK_U64(programs[i].pid, told->pid);
		CHECK_U64(programs[i].start_ns, told->stamp - BUILDER_TSC_START);
	}
	CHECK(programs[0].reason == UNRECORDED_STATIC);
	CHECK(programs[1].reason == UNRECORDED_SETUID);
	CHECK(programs[3].reason == UNRECORDED_UNKNOWN);
	CHECK(programs[4].reason == UNRECORDED_MUSL);
	model_destroy(model);
	builder_deinit(&builder);
}

CASE(rows, "a recording with processes that are rows, and figures of sites in several chunks")
{
	check_golden("recording-rows", &story_rows, true);
}

CASE(leaks, "a recording with a search for leaks")
{
	check_golden("recording-leaks", &story_leaks, true);
}

CASE(open, "a recording that was not closed")
{
	check_golden("recording-open", &story_full, false);
}

/* Not compared: see above. */
CASE(packed, "the packed seed")
{
	struct builder builder;
	struct story_truth truth;
	builder_init(&builder);
	builder.packed = true;
	builder_story(&builder, &story_full, &truth);
	write_seed("packed", &builder.file);
	struct model *model = NULL;
	CHECK_OK(source_open_bytes("packed", builder.file.data, builder.file.len, 0, &model));
	CHECK_U64(model_totals(model)->allocations, truth.allocations);
	model_destroy(model);
	builder_deinit(&builder);
}

TAP_MAIN
