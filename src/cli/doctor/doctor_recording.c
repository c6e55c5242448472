/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/doctor/doctor.h"
#include "cli/setup/context.h"
#include "model/model.h"
#include "query/bundles.h"

/* FORMAT.md: what a recording begins with. */
static const char first_bytes[8] = "HEAPWISE";

bool doctor_is_recording(const char *path)
{
	char magic[sizeof(first_bytes)] = "";
	struct stat st;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || read(fd, magic, sizeof(magic)) < 0)
		return false;
	if (!memcmp(magic, first_bytes, sizeof(magic)))
		return true;
	/* Bundles and files of other tools; programs that may not be started are programs. */
	return !(st.st_mode & 0111) && memcmp(magic, "\177ELF", 4) && memcmp(magic, "#!", 2);
}

/* Adds what `text` says, which is freed. */
static void add_text(
	struct findings *findings, enum finding_level level, const char *id, struct text *text)
{
	findings_add(findings, level, id, "%s", text->data ? text->data : "");
	findings->failed |= text->failed;
	text_deinit(text);
}

static void look_at_end(struct findings *findings, const struct model *model)
{
	const struct recording *recording = model_recording(model);
	struct text text;
	text_init(&text);
	text_add(&text, recording->complete ? "the recording is complete: "
					    : "the recording is incomplete: it covers ");
	text_add_counted(&text, recording->events, "event", "events");
	add_text(findings, recording->complete ? FINDING_OK : FINDING_PROBLEM, "complete", &text);
	if (!recording->complete)
		findings_fix(findings, "if the program is still running, look again when it has "
				       "ended; else figures cover the time up to its end");
}

/* Counters that are 0 in a recording without faults. */
static const struct fault {
	size_t member;
	enum finding_level level;
	const char *id, *one, *many, *none, *fix;
} faults[] = {
	{offsetof(struct recording, lost_events), FINDING_PROBLEM, "lost-events", "event was lost",
		"events were lost", "no event was lost",
		"heapwise report names the causes; counts are too low"},
	{offsetof(struct recording, stacks_full), FINDING_PROBLEM, "stacks",
		"event has no stack: the table of stacks was full",
		"events have no stack: the table of stacks was full", "every event has a stack",
		"record a shorter time, or with --mode sample"},
	{offsetof(struct recording, repairs), FINDING_NOTE, "repairs",
		"inconsistency was repaired: allocations and frees of an address did not alternate",
		"inconsistencies were repaired: allocations and frees of an address did not "
		"alternate",
		"allocations and frees of each address alternate", NULL},
};

static void look_at_faults(struct findings *findings, const struct model *model)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		const struct fault *fault = &faults[i];
		uint64_t count;
		memcpy(&count, (const char *)model_recording(model) + fault->member, sizeof(count));
		struct text text;
		text_init(&text);
		if (count)
			text_add_counted(&text, count, fault->one, fault->many);
		else
			text_add(&text, fault->none);
		add_text(findings, count ? fault->level : FINDING_OK, fault->id, &text);
		if (count && fault->fix)
			findings_fix(findings, "%s", fault->fix);
	}
}

/* Waits of less than this share of the recorded time don't change what is measured. */
#define WAIT_SHARE 10u

/* Back pressure: how long threads had to wait because the recorder was slower than they are. */
static void look_at_waits(struct findings *findings, const struct model *model)
{
	const struct recording *recording = model_recording(model);
	bool much = recording->wait_ns > recording->duration_ns / WAIT_SHARE;
	struct text text;
	text_init(&text);
	if (recording->wait_ns) {
		text_add(&text, "the program's threads waited ");
		text_add_duration_ns(&text, recording->wait_ns);
		text_add(&text, " in total for room in their buffers, ");
		if (!recording->waits_unknown) {
			text_add(&text, "in ");
			text_add_counted(&text, recording->waits, "wait", "waits");
			text_add(&text, ", ");
		}
		text_add(&text, "at most ");
		text_add_duration_ns(&text, recording->longest_wait_ns);
		text_add(&text, " at once, in ");
		text_add_duration_ns(&text, recording->duration_ns);
		text_add(&text, " of recording");
	} else if (recording->complete) {
		text_add(&text, "the program never waited for the recorder");
	} else {
		text_add(&text, "unknown whether the program waited for the recorder");
	}
	add_text(findings, much ? FINDING_NOTE : FINDING_OK, "waits", &text);
	if (much)
		findings_fix(findings, "leave a processor to the recorder, or record with --mode "
				       "aggregate or --mode sample");
}

/* Other tools don't write down what they lost. */
static void look_at_foreign(struct findings *findings, const struct model *model)
{
	findings_add(findings, FINDING_NOTE, "foreign",
		"the file can be read (format: %s); whether it is complete is not known",
		model_recording(model)->source);
}

struct error *doctor_recording(struct findings *findings, const char *path)
{
	struct model *model;
	struct error *error = recording_open(cli_context(), path, 0, NULL, &model);
	if (error)
		return error;
	if (strcmp(model_recording(model)->source, "recording") != 0) {
		look_at_foreign(findings, model);
	} else {
		look_at_end(findings, model);
		look_at_faults(findings, model);
		look_at_waits(findings, model);
	}
	model_destroy(model);
	return NULL;
}
