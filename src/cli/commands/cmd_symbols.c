/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise symbols: where names of a recording's functions come from, and why some have none. */
#include "cli/options/view_options.h"
#include "views/symbol_files_view.h"

static const struct option_spec option_specs[] = {
	{VIEW_OPT_JSON, "json", NULL, "write JSON, schema heapwise.symbols/1"},
	{VIEW_OPT_CSV, "csv", NULL, "write the table of modules as CSV"},
	VIEW_SPECS_TERMINAL SYMBOL_SPECS{0},
};

struct request {
	struct view_request shown;
	const char *path;
	struct model *model;
};

static struct error *write_it(void *ctx, const struct sink *sink)
{
	const struct request *request = ctx;
	return symbol_files_view_write(request->model, &request->shown.options, sink);
}

static int cmd_symbols_show(struct request *request)
{
	int code = view_request_open(&request->shown, request->path, 0, &request->model);
	if (!code)
		code = view_request_write(&request->shown, NULL, write_it, request);
	model_destroy(request->model);
	return code;
}

static int cmd_symbols_run(const struct command *command, int argc, char **argv)
{
	struct request request = {.shown = VIEW_REQUEST_DEFAULT};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int id, code = 0;
	while (!code && (id = options_next(&options)) > 0)
		code = view_options_take(&options, id, &request.shown) ? 0 : ERROR_USAGE;
	if (!code)
		code = options.exit_code;
	if (!code && id == 0 && request.shown.options.csv && request.shown.options.json)
		code = options_wrong(command, "--csv and --json exclude each other");
	if (!code && id == 0 &&
		!view_request_files(command, &request.shown, "this table", argv + options.operand,
			(size_t)(argc - options.operand), &request.path))
		code = ERROR_USAGE;
	if (!code && id == 0)
		code = cmd_symbols_show(&request);
	view_request_deinit(&request.shown);
	return code;
}

const struct command command_symbols = {
	.name = "symbols",
	.synopsis = "[FILE] [--symbol-path DIR[:DIR]] [--sysroot DIR] [OPTION…]",
	.what = "Shows where function names come from, and why some are missing.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. For each "
		 "program and library:\n"
		 "its build-id, which file the names come from and how good they are, which files "
		 "were tried, and\n"
		 "why they are not used. The rules are in docs/symbols.md.\n",
	.examples =
		"  heapwise symbols app.hpw\n"
		"  heapwise symbols --symbol-path /srv/symbols app.hpw    would these files do?\n"
		"  heapwise symbols --json app.hpw\n",
	.options = option_specs,
	.run = cmd_symbols_run,
};
