/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise doctor: why something can't be recorded, or has no line numbers, and what to do; how a
 * recording went. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/doctor/doctor.h"
#include "cli/options/options.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"

#define EXIT_FINDINGS 1

enum { OPT_JSON = 256 };

static const struct option_spec option_specs[] = {
	{OPT_JSON, "json", NULL, "write JSON, schema heapwise.doctor/1"},
	{0},
};

/* The machine; with a name or a PID also a program or a process; or a recording alone. */
struct request {
	const char *subject; /* as given; NULL: the machine alone */
	pid_t pid;           /* 0: subject is a program or a recording */
	bool is_recording;
	bool json;
};

static const char *cmd_doctor_kind_of(const struct request *request)
{
	if (!request->subject)
		return "machine";
	return request->is_recording ? "recording" : request->pid ? "process" : "program";
}

/* Digits alone are a PID; a program of such a name has a path: ./42. */
static pid_t pid_of(const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

/* *ret_machine: how many of the findings, the first ones, are about the machine. */
static struct error *cmd_doctor_examine(
	const struct request *request, struct findings *ret, size_t *ret_machine)
{
	*ret_machine = 0;
	if (request->is_recording)
		return doctor_recording(ret, request->subject);
	doctor_machine(ret);
	*ret_machine = ret->len;
	if (!request->subject)
		return NULL;
	return request->pid ? doctor_process(ret, request->pid)
			    : doctor_program(ret, request->subject);
}

static int print_text(
	const struct request *request, const struct findings *findings, size_t machine)
{
	struct text text;
	text_init(&text);
	text_printf(&text, "%s: ", request->subject ? request->subject : "this machine");
	if (findings->problems)
		text_printf(&text, "%zu %s\n", findings->problems,
			findings->problems == 1 ? "problem" : "problems");
	else
		text_add(&text, "no problem\n");
	findings_text(findings, request->subject ? machine : 0, &text);
	return output_text(&text);
}

static int print_json(const struct request *request, const struct findings *findings)
{
	struct output output;
	struct sink sink = output_sink(&output);
	_cleanup_free_ struct json *json = malloc(sizeof(*json));
	if (!json)
		return message_error(error_no_memory());
	json_init(json, sink.write, sink.ctx);
	json_object_begin(json);
	json_key(json, "schema");
	json_string(json, "heapwise.doctor/1");
	json_key(json, "kind");
	json_string(json, cmd_doctor_kind_of(request));
	json_key(json, "subject");
	if (request->subject)
		json_string(json, request->subject);
	else
		json_null(json);
	findings_json(findings, json);
	json_object_end(json);
	json_finish(json);
	return output_end(&output);
}

static int cmd_doctor_run(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	struct request request = {.subject = NULL};
	int id;
	while ((id = options_next(&options)) > 0)
		request.json = id == OPT_JSON;
	if (id < 0)
		return options.exit_code;
	if (argc - options.operand > 1)
		return options_wrong(command, "expected one program, PID or recording");
	if (options.operand < argc) {
		request.subject = argv[options.operand];
		request.pid = pid_of(request.subject);
		request.is_recording = !request.pid && doctor_is_recording(request.subject);
	}
	_cleanup_(findings_deinit) struct findings findings = {.data = NULL};
	size_t machine;
	struct error *error = cmd_doctor_examine(&request, &findings, &machine);
	if (!error && findings.failed)
		error = error_no_memory();
	if (error)
		return message_error(error);
	int code = request.json ? print_json(&request, &findings)
				: print_text(&request, &findings, machine);
	return code ? code : findings.problems ? EXIT_FINDINGS : 0;
}

const struct command command_doctor = {
	.name = "doctor",
	.synopsis = "[PROGRAM|PID|RECORDING] [--json]",
	.what = "Explains why a program can't be recorded or has no line numbers, and how to fix "
		"it.",
	.about = "Without an argument, checks this machine; with a program or the PID of a "
		 "process, checks that as\n"
		 "well. A program is searched for in $PATH, as a shell does; a library may be "
		 "given by its path.\n"
		 "Of a recording it shows whether it is complete, what was lost, and how long the "
		 "program had to\n"
		 "wait for the recorder. The exit status is 0 if there are no problems, 1 if there "
		 "are, and 3 if the\n"
		 "program, process or recording does not exist or may not be inspected.\n",
	.examples = "  heapwise doctor\n"
		    "  heapwise doctor ./app\n"
		    "  heapwise doctor $(pidof -s app)\n"
		    "  heapwise doctor app.hpw\n",
	.options = option_specs,
	.no_files = true,
	.run = cmd_doctor_run,
};
