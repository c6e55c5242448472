/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suppression files and what they are matched with. The input is a file's text; behind its first
 * NUL byte, if there is one, stand the names of a stack's frames, one a line: `function object
 * file` with blanks between, in which `-` is an unknown one. What is read must keep its promises,
 * and the entry that is written for the stack must hold for it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/suppress.h"
#include "base/util.h"

#define FRAMES_MAX 12u
#define NAMES_BYTES_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition)
{
	if (!condition)
		abort();
}

static char *known(char *name)
{
	return name && strcmp(name, "-") != 0 ? name : NULL;
}

/* Fills in frames that point into `names`. */
static size_t split_frames(char *names, struct suppress_frame frames[FRAMES_MAX])
{
	size_t count = 0;
	char *rest = NULL;
	for (char *line = strtok_r(names, "\n", &rest); line && count < FRAMES_MAX;
		line = strtok_r(NULL, "\n", &rest)) {
		char *words = NULL;
		struct suppress_frame frame = {.line = (uint32_t)count};
		frame.function = known(strtok_r(line, " ", &words));
		frame.object = known(strtok_r(NULL, " ", &words));
		frame.file = known(strtok_r(NULL, " ", &words));
		frame.inlined = known(strtok_r(NULL, " ", &words)) != NULL;
		frames[count++] = frame;
	}
	return count;
}

static uint32_t match(struct suppressions *set, const struct suppress_frame *frames, size_t count,
	enum suppress_kind kind)
{
	uint32_t id = 0;
	need(!suppressions_match(set, frames, count, kind, &id));
	need(id == SUPPRESS_NONE ||
		(id < suppressions_count(set) && suppressions_get(set, id)->kinds & 1u << kind));
	return id;
}

static void check_entries(const struct suppressions *set)
{
	for (uint32_t id = 0; id < suppressions_count(set); id++) {
		const struct suppression *entry = suppressions_get(set, id);
		need(*entry->name && strcmp(entry->file, "input") == 0 && entry->line > 0);
		need(!(entry->kinds >> SUPPRESS_ALL_KINDS));
		/* Of leaks of any kinds, or of errors of one. */
		uint64_t errors = entry->kinds & ~(uint64_t)SUPPRESS_KINDS_ALL;
		need(!errors || errors == entry->kinds);
		need(!(errors & (errors - 1)));
		need(!entry->extra || (*entry->extra && errors));
	}
}

/* Before and after the entry for this very stack is added: then that one is found, or an earlier.
 */
static void check_stack(struct suppressions *set, const struct suppress_frame *frames, size_t count)
{
	for (unsigned kind = 0; kind < SUPPRESS_KINDS; kind++)
		match(set, frames, count, (enum suppress_kind)kind);
	if (count == 0)
		return;
	size_t before = suppressions_count(set);
	uint32_t found = match(set, frames, count, SUPPRESS_POSSIBLE);
	struct text text;
	text_init(&text);
	suppress_write(&text, SUPPRESS_POSSIBLE, frames, count);
	need(!suppressions_parse(set, "written", text.data, text.len));
	need(suppressions_count(set) == before + 1);
	uint32_t again = match(set, frames, count, SUPPRESS_POSSIBLE);
	need(again == (found == SUPPRESS_NONE ? before : found));
	text_deinit(&text);
}

/* The same for an error of each kind, with a line of its own or without. */
static void check_error(struct suppressions *set, const struct suppress_frame *frames, size_t count)
{
	for (unsigned kind = SUPPRESS_KINDS; kind < SUPPRESS_ALL_KINDS && count; kind++) {
		const struct suppress_error error = {.kinds = SUPPRESS_BIT(kind),
			.extra = kind == SUPPRESS_PARAM || kind == SUPPRESS_FISHY_VALUE
					 ? "read(buf)"
					 : NULL,
			.frames = frames,
			.count = count};
		uint32_t before = (uint32_t)suppressions_count(set), found, again;
		need(!suppressions_match_error(set, &error, &found));
		need(found == SUPPRESS_NONE || suppressions_get(set, found)->kinds == error.kinds);
		struct text text;
		text_init(&text);
		suppress_write_error(&text, &error);
		need(!suppressions_parse(set, "written", text.data ? text.data : "", text.len));
		need(suppressions_count(set) == before + (text.len > 0));
		need(!suppressions_match_error(set, &error, &again));
		need(!text.len || again == (found == SUPPRESS_NONE ? before : found));
		text_deinit(&text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
	size_t text_len = nul ? (size_t)(nul - data) : size;
	char names[NAMES_BYTES_MAX + 1] = "";
	if (nul) {
		size_t len = min(size - text_len - 1, (size_t)NAMES_BYTES_MAX);
		memcpy(names, nul + 1, len);
		names[len] = '\0';
	}
	/* Once with the names as part of it: a NUL where none may be. */
	struct suppressions *set = NULL;
	need(!suppressions_create(&set));
	struct error *error = suppressions_parse(set, "input", (const char *)data, size);
	need(!error || (error->code == ERROR_INPUT && strncmp(error->message, "input:", 6) == 0));
	need(!error || suppressions_count(set) == 0);
	error_destroy(error);
	suppressions_destroy(set);

	need(!suppressions_create(&set));
	error = suppressions_parse(set, "input", (const char *)data, text_len);
	need(!error || error->code == ERROR_INPUT);
	need(suppressions_effort(set).bytes_scanned <= text_len);
	check_entries(set);
	struct suppress_frame frames[FRAMES_MAX];
	size_t count = split_frames(names, frames);
	check_stack(set, frames, count);
	check_error(set, frames, count);
	suppressions_limit_lines(set, 3);
	match(set, frames, count, SUPPRESS_DEFINITE);
	error_destroy(error);
	suppressions_destroy(set);
	return 0;
}
