/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/leak_judge.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands/leak_report.h"
#include "cli/options/gperftools_options.h"
#include "cli/options/lsan_options.h"
#include "cli/terminal/message.h"

void leak_judge_init(struct leak_judge *judge, const struct leak_options *options)
{
	judge->options = *options;
	leak_options_as_lsan(&judge->options);
	judge->checker = *options;
	gperftools_options_check(&judge->checker);
	if (!getcwd(judge->folder, sizeof(judge->folder)))
		judge->folder[0] = 0;
}

struct leak_verdict leak_judge(const void *context, const struct leak_question *question)
{
	const struct leak_judge *judge = context;
	bool is_checker = question->asker == HW_ASKER_CHECKER;
	_cleanup_(leak_report_cleanup) struct leak_report *report = NULL;
	struct leak_verdict verdict = {.found = HW_FOUND_UNKNOWN};
	/* gperftools knows no search without an answer, so this one has none either. */
	const struct leak_verdict failed = {
		is_checker ? HW_FOUND_UNKNOWN : HW_FOUND_LEAKS, LSAN_EXITCODE, {0}};
	if (judge->folder[0])
		(void)!chdir(judge->folder);
	struct error *error =
		leak_report_create(is_checker ? &judge->checker : &judge->options, &report);
	if (error) {
		message_error(error);
		return failed;
	}
	/* What stands in the way of an answer fails, as it does with LeakSanitizer. */
	if (leak_report_show(report, question->file, STDERR_FILENO, true))
		return failed;
	if (!leak_report_searched(report))
		return verdict;
	const struct leaks_sums sums = leak_report_sums(report);
	verdict.sums =
		(struct hw_found_sums){sums.lost_blocks, sums.lost_bytes, sums.blocks, sums.bytes};
	int status = leak_report_exitcode(report);
	verdict.found = leak_report_errors(report) ? HW_FOUND_LEAKS : HW_FOUND_NOTHING;
	verdict.status = status == LEAK_NO_EXITCODE ? 0 : (uint32_t)status;
	return verdict;
}
