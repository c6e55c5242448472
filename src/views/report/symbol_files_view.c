/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/symbol_files_view.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/symbol_files.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "table/answer.h"
#include "views/report/member_columns.h"
#include "views/report/page.h"
#include "views/report_documents.h"

static const struct {
	const char *word, *text;
} qualities[] = {
	[SYMBOLS_UNOPENED] = {"none", "no names"},
	[SYMBOLS_DWARF] = {"dwarf", "names, files and lines (DWARF)"},
	[SYMBOLS_SYMTAB] = {"symtab", "names of functions (symbol table)"},
	[SYMBOLS_DYNSYM] = {"dynsym", "names of exported functions (dynamic symbols)"},
	[SYMBOLS_MISSING] = {"none", "no names: no file with names was found"},
	[SYMBOLS_CHANGED] = {"changed", "no names: its file has changed since the recording"},
};

static const struct {
	const char *word, *text;
} trials[TRIALS] = {
	[TRIAL_ABSENT] = {"absent", "not found"},
	[TRIAL_UNREADABLE] = {"unreadable", "can't be read, or is not an ELF file"},
	[TRIAL_CUT_SHORT] = {"cut-short", "is cut off"},
	[TRIAL_OTHER] = {"other-build", "is from another build"},
	[TRIAL_UNSURE] = {"unsure", "can't be verified (no build-id or checksum)"},
	[TRIAL_EMPTY] = {"nothing-new", "has nothing new"},
	[TRIAL_USED] = {"used", "is used"},
};

static const struct {
	enum symbols_lack lack;
	const char *word, *text;
} lacks[] = {
	{SYMBOLS_LACK_ZSTD, "zstd",
		"its debug information is compressed with zstd, which can't be read here"},
	{SYMBOLS_LACK_SHARED, "shared", "its shared debug file (dwz) is missing"},
	{SYMBOLS_LACK_DAMAGED, "damaged", "its debug information is damaged"},
	{SYMBOLS_LACK_CUT, "cut", "a file that is cut off was ignored"},
	{SYMBOLS_LACK_SPLIT, "split", "split files (.dwo, .dwp) are missing or from another build"},
};

/* The vdso never was a file. */
static bool symbol_files_view_is_shown(const struct symbol_file *file)
{
	return file->path[0] == '/' || file->addresses;
}

static void add_build_id(const struct symbol_file *file, struct text *text)
{
	for (size_t i = 0; i < file->build_id_len; i++)
		text_printf(text, "%02x", file->build_id[i]);
}

/* The context of modules. */
struct module_rows {
	const struct symbol_file *files;
	size_t *lacking; /* rows of lacks[] that the module at hand has; room for all */
};

static void symbol_files_view_row_text(const void *context, size_t row, struct text *out)
{
	const struct symbol_file *file = &((const struct module_rows *)context)->files[row];
	text_printf(out, "\n%s\n", file->path);
	if (file->build_id_len) {
		text_add(out, "  build-id   ");
		add_build_id(file, out);
	} else {
		text_add(
			out, "  build-id   none recorded: whether its file has changed is unknown");
	}
	text_printf(out, "\n  has        %s\n", qualities[file->state].text);
	if (file->names_from)
		text_printf(out, "  from       %s\n", file->names_from);
	for (size_t i = 0; i < ARRAY_SIZE(lacks); i++)
		if (file->lacks & lacks[i].lack)
			text_printf(out, "  missing    %s\n", lacks[i].text);
	text_printf(out, "  in stacks  %" PRIu64 " %s", file->addresses,
		file->addresses == 1 ? "address" : "addresses");
	if (file->addresses)
		text_printf(out, ", %" PRIu64 " named, %" PRIu64 " with lines", file->named,
			file->placed);
	text_add(out, "\n");
	for (size_t i = 0; i < file->tried_count; i++)
		if (file->state != SYMBOLS_DWARF || file->lacks ||
			file->tried[i].trial != TRIAL_ABSENT)
			text_printf(out, "  looked at  %s: %s\n", file->tried[i].path,
				trials[file->tried[i].trial].text);
}

enum { TRIED_PATH, TRIED_RESULT };
static const struct column tried_columns[] = {
	[TRIED_PATH] = WORD_OF(symbols_lookups, path, "of the file"),
	[TRIED_RESULT] = {"result", COLUMN_TEXT,
		.says = "`used`, `absent`, `unreadable` (or no ELF file), `cut-short`, "
			"`other-build`, `unsure` (neither a build-id nor a checksum tells whether "
			"it is the right one) or `nothing-new` (no names in it)"},
	COLUMNS_END};

static void tried_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct symbols_lookups *tried = &((const struct symbols_lookups *)context)[row];
	ret->text = column == TRIED_PATH ? tried->path : trials[tried->trial].word;
}

static const struct table_type tried_type = {
	.name = "tried", .columns = tried_columns, .cell = tried_cell};

static const struct column lack_columns[] = {
	{"", COLUMN_TEXT,
		.says = "`zstd` (packed by zstd, which can't be read here), `shared` (the file "
			"shared with "
			"others by dwz), `split` (`.dwo`, `.dwp`), `damaged` (overwritten) or "
			"`cut` (a file "
			"that ends before its sections do was passed over)"},
	COLUMNS_END};

static void lack_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)context, (void)column;
	ret->text = lacks[row].word;
}

static const struct table_type lack_type = {.columns = lack_columns, .cell = lack_cell};

enum { PATH, BUILD_ID, QUALITY, NAMES_FROM, ADDRESSES, NAMED, WITH_LINES, CACHED, MISSING, TRIED };
static const struct column columns[] = {
	[PATH] = WORD_OF(symbol_file, path, "as the recorded process saw it"),
	[BUILD_ID] = {"build_id", COLUMN_TEXT,
		.says = "in hex; null: none was recorded, and whether the file at the path is the "
			"one that was recorded can't be known"},
	[QUALITY] = {"quality", COLUMN_TEXT,
		.says = "`dwarf` (names, files, lines, inlined functions), `symtab` (names of "
			"functions), `dynsym` (of exported ones), `none` (no file with any was "
			"found) or `changed` (the file at the path is another build, and no other "
			"was found)"},
	[NAMES_FROM] = WORD_AS("file", symbol_file, names_from, "that names come from; or null"),
	[ADDRESSES] = COUNT_OF(symbol_file, addresses, "in it, that stacks go through"),
	[NAMED] = COUNT_OF(symbol_file, named, "of these, with a function"),
	[WITH_LINES] = COUNT_AS("with_lines", symbol_file, placed, "of these, with a source line"),
	[CACHED] = COUNT_AS("cached", symbol_file, kept,
		"of `addresses`, those whose answer an earlier command had kept ([names "
		"are "
		"kept](../symbols.md#names-are-kept-by-build-id))"),
	[MISSING] = {"missing", COLUMN_LIST, .says = "of its debug information",
		.nested = &lack_type},
	[TRIED] = {"tried", COLUMN_TABLE, .says = "files that were looked at, in that order",
		.nested = &tried_type},
	COLUMNS_END};

static void missing_cell(const struct module_rows *rows, unsigned lacking, struct cell *ret)
{
	size_t count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(lacks); i++)
		if (lacking & lacks[i].lack)
			rows->lacking[count++] = i;
	ret->nested = (struct table){
		&lack_type, NULL, count, .order = rows->lacking, .limit = TABLE_NO_LIMIT};
}

static void symbol_files_view_cell_of(
	const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct module_rows *rows = context;
	const struct symbol_file *file = &rows->files[row];
	switch (column) {
	case BUILD_ID:
		add_build_id(file, &ret->built);
		ret->text = ret->built.len ? ret->built.data : NULL;
		break;
	case QUALITY:
		ret->text = qualities[file->state].word;
		break;
	case MISSING:
		missing_cell(rows, file->lacks, ret);
		break;
	case TRIED:
		ret->nested = (struct table){
			&tried_type, file->tried, file->tried_count, .limit = TABLE_NO_LIMIT};
		break;
	default:
		table_member(&columns[column], file, ret);
	}
}

static const struct table_type module_type = {.name = "modules",
	.says = "programs and libraries in the order in which they were loaded, each path and "
		"build-id once; the kernel's `linux-vdso.so.1` only if stacks go through it",
	.columns = columns,
	.cell = symbol_files_view_cell_of,
	.row_text = symbol_files_view_row_text};

static const struct column recording_columns[] = {
	WORD_AS("recording", recording, path, "the file that was read"), COLUMNS_END};
static const struct table_type recording_type = {.columns = recording_columns};

const struct answer_type symbol_files_type = {.schema = "heapwise.symbols/1",
	.from = "heapwise symbols --json",
	.says = "where names come from. The rules are in [docs/symbols.md](../symbols.md)",
	.tables = (const struct table_type *const[]){&recording_type, &module_type, NULL},
	.main = &module_type};

static void add_counts(const struct symbol_files *files, size_t shown, struct text *out)
{
	size_t counts[ARRAY_SIZE(qualities)] = {0};
	for (size_t i = 0; i < files->files.len; i++)
		counts[files->files.data[i].state] +=
			symbol_files_view_is_shown(&files->files.data[i]);
	text_printf(out, "%zu %s: %zu with names, files and lines, %zu with names, %zu without.\n",
		shown, shown == 1 ? "module" : "modules", counts[SYMBOLS_DWARF],
		counts[SYMBOLS_SYMTAB] + counts[SYMBOLS_DYNSYM],
		shown - counts[SYMBOLS_DWARF] - counts[SYMBOLS_SYMTAB] - counts[SYMBOLS_DYNSYM]);
}

static struct error *put_modules(
	const struct model *model, const struct symbol_files *files, struct answer *answer)
{
	_cleanup_free_ size_t *order = calloc(files->files.len + 1, sizeof(*order));
	size_t lacking[ARRAY_SIZE(lacks)];
	const struct module_rows rows = {files->files.data, lacking};
	struct table modules = {&module_type, &rows, .order = order, .limit = TABLE_NO_LIMIT};
	struct text *prose = answer_prose(answer);
	if (!order)
		return error_no_memory();
	for (size_t i = 0; i < files->files.len; i++)
		if (symbol_files_view_is_shown(&files->files.data[i]))
			order[modules.count++] = i;
	answer_begin(answer, &symbol_files_type);
	answer_record_of(answer, &recording_type, model_recording(model));
	if (prose)
		add_counts(files, modules.count, prose);
	answer_table(answer, &modules);
	return answer_end(answer);
}

struct error *symbol_files_view_write(
	const struct model *model, const struct view_options *options, const struct sink *sink)
{
	_cleanup_(symbol_files_deinit) struct symbol_files files;
	symbol_files_init(&files);
	struct error *error = symbol_files_build(model, &files);
	if (error)
		return error;
	struct answer *answer = view_answer_create(options, sink);
	error = answer ? put_modules(model, &files, answer) : error_no_memory();
	answer_destroy(answer);
	return error;
}
