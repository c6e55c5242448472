/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the doctor finds: a list of statements, each with its weight and, where something is to be
 * done, what. Adding never reports: without memory `failed` is set, and the caller that prints
 * checks it once.
 */
#ifndef CLI_FINDINGS_H
#define CLI_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/text.h"

enum finding_level {
	FINDING_OK,      /* as it should be */
	FINDING_NOTE,    /* worth knowing; recording and names work */
	FINDING_PROBLEM, /* keeps from recording, or from line numbers */
};

struct finding {
	enum finding_level level;
	const char *id; /* stable, for programs: "debug-info"; static */
	char *what;     /* one sentence without a full stop */
	char *fix;      /* NULL: nothing to do */
};

struct findings {
	struct finding *data;
	size_t len, cap;
	size_t problems, notes;
	bool failed;
};

void findings_deinit(struct findings *findings);
void findings_add(struct findings *findings, enum finding_level level, const char *id,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
/* What to do about the finding added last. */
void findings_fix(struct findings *findings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The list as lines of text. What is as it should be is left out of the first `brief` findings. */
void findings_text(const struct findings *findings, size_t brief, struct text *text);
/* The list as the members "problems", "notes" and "findings" of an open object. */
void findings_json(const struct findings *findings, struct json *json);

#endif
