/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/leak_judge.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands/leak_report.h"
#include "cli/options/lsan_options.h"
#include "cli/terminal/message.h"

void leak_judge_init(struct leak_judge *judge, const struct leak_options *options)
{
	judge->options = *options;
	leak_options_as_lsan(&judge->options);
	if (!getcwd(judge->folder, sizeof(judge->folder)))
		judge->folder[0] = 0;
}

struct leak_verdict leak_judge(const void *context, const char *file)
{
	const struct leak_judge *judge = context;
	_cleanup_(leak_report_cleanup) struct leak_report *report = NULL;
	struct leak_verdict verdict = {HW_FOUND_UNKNOWN, 0};
	const struct leak_verdict failed = {HW_FOUND_LEAKS, LSAN_EXITCODE};
	if (judge->folder[0])
		(void)!chdir(judge->folder);
	struct error *error = leak_report_create(&judge->options, &report);
	if (error) {
		message_error(error);
		return failed;
	}
	/* What stands in the way of an answer fails, as it does with LeakSanitizer. */
	if (leak_report_show(report, file, STDERR_FILENO, true))
		return failed;
	if (!leak_report_searched(report))
		return verdict;
	int status = leak_report_exitcode(report);
	verdict.found = leak_report_errors(report) ? HW_FOUND_LEAKS : HW_FOUND_NOTHING;
	verdict.status = status == LEAK_NO_EXITCODE ? 0 : (uint32_t)status;
	return verdict;
}
