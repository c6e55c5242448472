/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that views of a report hand over, as one document. */
#include "views/report_documents.h"

#include "views/callgraph.h"
#include "views/calltree.h"
#include "views/compare/change_columns.h"
#include "views/compare/change_view.h"
#include "views/errors_view.h"
#include "views/export.h"
#include "views/listing.h"
#include "views/peek.h"
#include "views/report/head.h"
#include "views/report/recorded_columns.h"
#include "views/report/report_answers.h"
#include "views/report/site_columns.h"
#include "views/stacks/frames.h"
#include "views/tree.h"

static const struct table_type *const tables[] = {&report_view_type, &report_target_type,
	&report_recording_type, &report_totals_type, &report_notes_type, &report_order_type,
	&report_verdict_type, &report_inherited_type, &report_leaks_type, &report_libraries_type,
	&report_top_types[SUMMARY_NEVER_FREED], &report_top_types[SUMMARY_PEAK],
	&report_top_types[SUMMARY_CALLS], &report_top_types[SUMMARY_TEMPORARY], &report_sites_type,
	&report_spots_by_type, &report_spots_type, &report_growth_type, &report_places_type,
	&report_life_types[0], &report_life_types[1], &report_reallocs_type,
	&report_size_classes_type, &report_sizes_type, &report_threads_type, &report_marks_type,
	&report_rss_moment_type, &report_rss_type, &report_errors_count_type, &report_errors_type,
	&report_coverage_type, &report_suppressions_type, NULL};
static const struct table_type *const parts[] = {&site_type, &frame_type, &plain_frame_type, NULL};

static const struct answer_type report_type = {.schema = "heapwise.report/1",
	.from = "heapwise report --json",
	.says = "where the memory of a recorded program went. What figures count is said in "
		"[quantities](../quantities.md). What a view is named with is in that view alone; "
		"lists are complete unless `--limit` is given. `--csv` writes the list of the "
		"view. "
		"With `--base` there is more: [reports with a base](report-base.md)",
	.tables = tables,
	.parts = parts};

static const struct answer_type base_type = {.schema = "heapwise.report/1",
	.page = "report-base",
	.title = "Reports with a base",
	.from = "heapwise report --base OLD --json` and `heapwise timeline --base OLD --json",
	.says = "what [heapwise.report/1](report-1.md) and [heapwise.timeline/1](timeline-1.md) "
		"have in place of, or beside, what is on their pages. All other members, `verdict` "
		"too, are those of the newer recording. Lists also have what is gone, with figures "
		"of 0, and what is the same. Sites are the same as [comparisons](../diff.md) say; "
		"their stacks are the newer program's, of those that are gone the older one's. "
		"The views `growth` and `timeline` have no `base` and no `change`. `--csv` writes "
		"the list of the view, with columns `base.…` and `change.…`",
	.tables = (const struct table_type *const[]){&change_base_type, &change_whole_type,
		&change_sites_type, &change_spots_type, &change_classes_type, &change_sizes_type,
		&change_lives_type, &change_other_lives_type, &change_threads_type,
		&change_reallocs_type, &change_growth_type, &change_places_type, &change_older_type,
		&change_snapshots_type, NULL},
	.parts = (const struct table_type *const[]){&change_row_base_type, &change_row_change_type,
		&change_totals_type, &figure_type, &change_renames_type, &report_node_type, NULL},
	.beside = &report_type};

static const struct answer_type timeline_type = {.schema = "heapwise.timeline/1",
	.from = "heapwise timeline --json",
	.says = "how the heap grew and shrank. `view` is `timeline`; it, `target`, `recording`, "
		"`totals`, `notes`, `filter`, `sorted_by` and frames are as in "
		"[heapwise.report/1](report-1.md)",
	.tables = (const struct table_type *const[]){&report_timeline_type, &report_snapshots_type,
		NULL},
	.parts = (const struct table_type *const[]){&report_node_type, &plain_frame_type, NULL}};

const struct answer_type *const report_document_types[] = {&report_type, &base_type, &timeline_type,
	&symbol_files_type, &calltree_answer_type, &callgraph_answer_type, &peek_answer_type,
	&listing_answer_type, &tree_answer_type, &check_answer_type, &export_json_type, NULL};
