/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the forms for CI systems share, of leaks and of budgets. Inside views/ only. */
#ifndef VIEWS_CI_PARTS_H
#define VIEWS_CI_PARTS_H

#include "analysis/resolve.h"
#include "base/error.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "model/model.h"

/* A frame's source file, relative if it is in the folder where the program was started; or NULL. */
const char *ci_file(const struct model *model, const struct shown_frame *frame);

/* What stays of a finding when lines move: its class, the allocation function, the functions of the
 * stack. False: no memory. */
bool ci_fingerprint(const char *class, enum alloc_kind kind,
	const struct shown_frame *const *frames, size_t depth, uint64_t *ret);

/* " name="value"" */
void ci_add_attribute(struct text *out, const char *name, const char *value);
/* As the runners of GitHub and Gitea unescape it; more is escaped in properties. */
void ci_add_github(struct text *out, const char *text, bool property);
/* "::error file=app.c,line=12,title=TITLE::MESSAGE"; without a place if frame is NULL. */
void ci_add_annotation(struct text *out, const char *level, const struct model *model,
	const struct shown_frame *frame, const char *title, const char *message);

static inline bool fingerprint_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(fingerprint_map, uint64_t, uint32_t, hash_u64, fingerprint_equal)

struct sarif_rule {
	const char *id, *name, *text, *level;
};

/* SARIF 2.1.0: all up to and with "driver", then results follow; sarif_end() closes the document.
 */
void sarif_begin(
	struct json *json, const char *version, const struct sarif_rule *rules, size_t count);
void sarif_end(struct json *json);
/* "invocations": how the run went; texts are notes, empty ones are left out. */
void sarif_put_invocation(
	struct json *json, bool successful, const struct text *const *texts, size_t count);
/* "KEY": {"text": …} */
void sarif_put_text(struct json *json, const char *key, const char *text);
/* "partialFingerprints": results that agree have a number behind it. */
struct error *sarif_put_fingerprint(
	struct json *json, uint64_t fingerprint, struct fingerprint_map *seen) must_check_;
/* "locations" of a place, which may be NULL, and "stacks". */
void sarif_put_place(struct json *json, const struct model *model, const struct shown_frame *place);
void sarif_put_stack(struct json *json, const struct model *model,
	const struct shown_frame *const *frames, size_t depth);

#endif
