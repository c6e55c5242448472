/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits that a program's figures must keep, and the stacks to blame where they don't: as few as
 * together make the excess, the largest first. A limit is exceeded or kept if that is certain
 * (evidence.h); of an estimate both ends of the range must agree. Else it is undecided. What
 * libraries keep for themselves (library_own.h) does not count as never freed.
 */
#ifndef ANALYSIS_BUDGET_H
#define ANALYSIS_BUDGET_H

#include "analysis/diff.h"
#include "analysis/evidence.h"
#include "analysis/leaks.h"
#include "analysis/limit.h"
#include "base/arena.h"

enum budget_rule {
	BUDGET_PEAK,
	BUDGET_NEVER_FREED,
	BUDGET_PER_STACK,
	BUDGET_ALLOCATIONS,
	BUDGET_TEMPORARY,
	BUDGET_GROWTH,
	BUDGET_LEAK,
	BUDGET_LEAK_PER_STACK,
	BUDGET_ERRORS,
	BUDGET_RULES
};

/* What a rule is called. */
struct budget_rule_info {
	const char *option; /* "max-peak" */
	const char *name;   /* "PeakAboveLimit" */
	const char *noun;   /* "peak" */
	const char *text;   /* a sentence */
	enum metric metric;
};
const struct budget_rule_info *budget_rule_info(enum budget_rule rule);

struct budget_limits {
	bool given[BUDGET_RULES];
	struct limit limits[BUDGET_RULES];
	unsigned leak_kinds; /* bits 1 << enum leak_kind that count for the last two */
};

/* What is judged. Rows and what else is here must outlive the budget. */
struct budget_input {
	const struct model *model;
	const struct rows *rows;
	const struct model *baseline; /* NULL: there is none */
	const struct diff *diff;      /* against it, or NULL */
	const struct leaks *leaks;    /* NULL: not looked at */
	struct resolver *resolver;    /* of the model, with all frames: for BUDGET_ERRORS */
};

struct budget_finding {
	const struct shown_frame *const *frames; /* innermost first */
	size_t depth;
	const struct shown_frame *place; /* the frame to blame; NULL: none */
	enum alloc_kind kind;
	uint64_t value;   /* of the rule's metric; of BUDGET_GROWTH how much more */
	uint64_t blocks;  /* that these are; calls of BUDGET_ALLOCATIONS and BUDGET_TEMPORARY; how
			   * often an error of BUDGET_ERRORS came */
	const char *what; /* of an error its kind; else NULL */
};

struct budget_check {
	enum budget_rule rule;
	uint64_t limit, value;
	uint64_t low, high; /* the value, or the range of the estimate */
	uint64_t base;      /* of BUDGET_GROWTH: what it was before */
	bool exceeded, undecided, estimated;
	bool figure_known;   /* else the figures above are nothing */
	const char *unknown; /* why it is undecided, else NULL; lives as long as the budget */
	size_t first, count; /* findings */
};

DEFINE_VEC(budget_check_vec, struct budget_check)
DEFINE_VEC(budget_finding_vec, struct budget_finding)

struct budget {
	struct budget_check_vec checks; /* of limits that are given, by rule */
	struct budget_finding_vec findings;
	size_t exceeded, unknown; /* checks */
	struct text verdict;      /* sentences, each with a newline */
	struct arena arena;       /* reasons, stacks of errors */
};

void budget_init(struct budget *budget);
void budget_deinit(struct budget *budget);

struct error *budget_build(const struct budget_input *input, const struct budget_limits *limits,
	struct budget *ret) must_check_;

/* Adds a check in words: "peak: 12 MiB, at most 10 MiB". */
void budget_add_check(struct text *text, const struct budget_check *check);
/* Returns whether it is known how many blocks a finding's bytes are: not of files that count none.
 */
bool budget_counts_blocks(const struct budget_check *check, const struct budget_finding *finding);

/* Adds a finding: "510 B in 5 blocks". */
void budget_add_finding(
	struct text *text, const struct budget_check *check, const struct budget_finding *finding);

#endif
