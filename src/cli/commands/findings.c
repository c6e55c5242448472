/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/commands/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"

static const struct level {
	const char *text, *json;
} levels[] = {
	[FINDING_OK] = {"ok", "ok"},
	[FINDING_NOTE] = {"note", "note"},
	[FINDING_PROBLEM] = {"PROBLEM", "problem"},
};

void findings_deinit(struct findings *findings)
{
	for (size_t i = 0; i < findings->len; i++) {
		free(findings->data[i].what);
		free(findings->data[i].fix);
	}
	free(findings->data);
	*findings = (struct findings){.data = NULL};
}

void findings_add(struct findings *findings, enum finding_level level, const char *id,
	const char *format, ...)
{
	void *data = findings->data;
	if (findings->len == findings->cap &&
		!vec_grow(&data, &findings->cap, findings->len + 1, sizeof(struct finding))) {
		findings->failed = true;
		return;
	}
	findings->data = data;
	struct finding finding = {.level = level, .id = id};
	va_list args;
	va_start(args, format);
	if (vasprintf(&finding.what, format, args) < 0) {
		finding.what = NULL;
		findings->failed = true;
	}
	va_end(args);
	findings->data[findings->len++] = finding;
	findings->problems += level == FINDING_PROBLEM;
	findings->notes += level == FINDING_NOTE;
}

void findings_fix(struct findings *findings, const char *format, ...)
{
	if (findings->failed)
		return;
	struct finding *last = &findings->data[findings->len - 1];
	va_list args;
	va_start(args, format);
	if (vasprintf(&last->fix, format, args) < 0) {
		last->fix = NULL;
		findings->failed = true;
	}
	va_end(args);
}

void findings_text(const struct findings *findings, size_t brief, struct text *text)
{
	for (size_t i = 0; i < findings->len; i++) {
		const struct finding *f = &findings->data[i];
		if (f->level == FINDING_OK && i < brief)
			continue;
		text_printf(text, "  %-7s  %s\n", levels[f->level].text, f->what ? f->what : "");
		if (f->fix)
			text_printf(text, "           -> %s\n", f->fix);
	}
}

static void findings_put_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	if (text)
		json_string(json, text);
	else
		json_null(json);
}

void findings_json(const struct findings *findings, struct json *json)
{
	json_key(json, "problems");
	json_u64(json, findings->problems);
	json_key(json, "notes");
	json_u64(json, findings->notes);
	json_key(json, "findings");
	json_array_begin(json);
	for (size_t i = 0; i < findings->len; i++) {
		const struct finding *f = &findings->data[i];
		json_object_begin(json);
		findings_put_text(json, "level", levels[f->level].json);
		findings_put_text(json, "id", f->id);
		findings_put_text(json, "what", f->what);
		findings_put_text(json, "fix", f->fix);
		json_object_end(json);
	}
	json_array_end(json);
}
