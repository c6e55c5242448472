/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which options and operands of `heapwise watch` go together. */
#include <inttypes.h>
#include <limits.h>

#include "base/number.h"
#include "cli/watch/watch_request.h"

/* Returns -1, or the exit status of a wrong use. */
static int ways_check(const struct command *command, const struct watch_request *request)
{
	bool is_one = !(request->ways & (request->ways - 1));
	return is_one ? -1
		      : options_wrong(command, "--all, --sample-bytes and -s are three ways to "
					       "choose allocations: "
					       "expected one");
}

/* Without a process it is the kernel, as it is for memleak. Returns -1, or the exit status of a
 * wrong use. */
static int kernel_check(const struct command *command, struct watch_request *request, int count)
{
	bool has_process = request->pid || request->command;
	if (request->watch.is_kernel && has_process)
		return options_wrong(command,
			"%s is of the kernel's own allocations, of the whole machine: -p and -c "
			"can't go with it",
			request->watch.is_percpu ? "--percpu" : "--kernel");
	if (request->watch.is_kernel && request->process_option)
		return options_wrong(command,
			"%s is of processes: the kernel's own allocations are watched without it",
			request->process_option);
	if (has_process || count || request->watch.is_kernel)
		return -1;
	if (request->process_option)
		return options_wrong(command, "missing PID");
	request->watch.is_kernel = true;
	return -1;
}

/* Returns -1, or the exit status of a wrong use. */
static int pairs_check(const struct command *command, const struct watch_request *request)
{
	if (request->traces && request->writes_json)
		return options_wrong(command, "-t and --json are two forms: expected one");
	if (request->verifies && request->shown.combined)
		return options_wrong(
			command, "-C shows sums alone: --verify has blocks to judge without it");
	if (request->growth && request->has_block_option)
		return options_wrong(command,
			"--growth follows pages, and options of allocations mean nothing to it: "
			"expected -p, -c, -T, --json");
	if (request->pid && request->command)
		return options_wrong(command, "-p and -c are two processes: expected one");
	if (request->watch.max_size && request->watch.min_size > request->watch.max_size)
		return options_wrong(command, "-z is above -Z: no block would be followed");
	return -1;
}

/* `has_interval`: INTERVAL is given. Returns -1, or the exit status of a wrong use. */
static int record_check(
	const struct command *command, const struct watch_request *request, bool has_interval)
{
	if (request->record.recording.file && (request->shown_option || has_interval))
		return options_wrong(command,
			"a recording has all calls and moments: %s can't go with it (--for ends "
			"it)",
			request->shown_option ? request->shown_option : "INTERVAL");
	if (!request->record.recording.file &&
		(request->record.for_ns || request->record.recording.overwrite))
		return options_wrong(
			command, "--for and -f are of a recording: -o FILE is missing");
	return -1;
}

/* `first`: the operand that comes first, 0 for PID. Returns -1, or the exit status of a wrong use.
 */
static int operands_take(const struct command *command, struct watch_request *request, int first,
	char **words, int count)
{
	uint64_t *const numbers[] = {
		&request->pid, &request->intervals.interval_s, &request->intervals.count};
	for (int i = 0; i < count; i++) {
		if (first + i >= 3)
			return options_wrong(command, "unexpected '%s'", words[i]);
		if (!number_whole(words[i], numbers[first + i]) || *numbers[first + i] > INT_MAX)
			return options_wrong(command, "'%s' is no %s", words[i],
				first + i == 0   ? "PID"
				: first + i == 1 ? "interval in seconds"
						 : "count");
	}
	return request->pid > INT_MAX
		       ? options_wrong(command, "%" PRIu64 " is no PID", request->pid)
		       : -1;
}

int watch_request_check(
	const struct command *command, struct watch_request *request, char **words, int count)
{
	int code = ways_check(command, request);
	if (code < 0)
		code = kernel_check(command, request, count);
	int first = request->pid || request->command || request->watch.is_kernel ? 1 : 0;
	if (code < 0)
		code = pairs_check(command, request);
	if (code < 0)
		code = record_check(command, request, first + count > 1);
	return code < 0 ? operands_take(command, request, first, words, count) : code;
}
