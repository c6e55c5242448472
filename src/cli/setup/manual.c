/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/setup/manual.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/options/options.h"

/* mandoc(1) wants lines of the source no longer than 80 bytes: this leaves room for escapes. */
#define LINE_BYTES 64

/* Adds a character as roff prints it: '-' and quotes are the ASCII characters that they are. */
static void add_char(struct text *text, char c)
{
	static const struct {
		char c;
		const char *escape;
	} escapes[] = {{'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"},
		{'~', "\\(ti"}};
	for (size_t i = 0; i < ARRAY_SIZE(escapes); i++) {
		if (escapes[i].c == c) {
			text_add(text, escapes[i].escape);
			return;
		}
	}
	text_add_char(text, c);
}

/* Adds a word or a line without its end; at the beginning of a line it is none of roff's requests.
 */
static void add_words_n(struct text *text, const char *words, size_t len)
{
	bool begins = !text->len || text->data[text->len - 1] == '\n';
	if (begins && len && (*words == '.' || *words == '\''))
		text_add(text, "\\&");
	for (size_t i = 0; i < len; i++)
		add_char(text, words[i]);
}

static void manual_add_words(struct text *text, const char *words)
{
	add_words_n(text, words, strlen(words));
}

static size_t current_line_bytes(const struct text *text)
{
	size_t n = 0;
	while (n < text->len && text->data[text->len - n - 1] != '\n')
		n++;
	return n;
}

/* Adds words that are filled, in lines of the source that are not too long, and ends the last. */
static void add_filled_n(struct text *text, const char *words, size_t len)
{
	for (const char *p = words, *end = words + len; p < end;) {
		const char *word = p;
		while (p < end && *p != ' ' && *p != '\n')
			p++;
		size_t line = current_line_bytes(text);
		if (line && line + (size_t)(p - word) > LINE_BYTES)
			text_add_char(text, '\n');
		else if (line && text->data[text->len - 1] != ' ')
			text_add_char(text, ' ');
		add_words_n(text, word, (size_t)(p - word));
		while (p < end && (*p == ' ' || *p == '\n'))
			p++;
	}
	text_add_char(text, '\n');
}

static void add_filled(struct text *text, const char *words)
{
	add_filled_n(text, words, strlen(words));
}

static size_t line_bytes(const char *line)
{
	const char *end = strchr(line, '\n');
	return end ? (size_t)(end - line) + 1 : strlen(line);
}

/* Adds lines as they are, in a typewriter's letters. */
static void add_literal(struct text *text, const char *lines, size_t len)
{
	text_add(text, ".nf\n");
	for (const char *line = lines; line < lines + len; line += line_bytes(line)) {
		add_words_n(text, line, strcspn(line, "\n"));
		text_add_char(text, '\n');
	}
	text_add(text, ".fi\n");
}

/* Whether a paragraph goes on in this line. */
static bool is_prose(const char *line)
{
	return *line && *line != '\n' && *line != ' ';
}

/* Adds paragraphs: an empty line ends one, and lines that begin with a blank stay as they are. */
static void add_prose(struct text *text, const char *prose)
{
	for (const char *line = prose, *end; *line; line = end) {
		bool filled = is_prose(line);
		end = line;
		if (*line == '\n') {
			end++;
			continue;
		}
		if (filled)
			text_add(text, ".PP\n");
		while (filled ? is_prose(end) : *end == ' ')
			end += line_bytes(end);
		if (filled)
			add_filled_n(text, line, (size_t)(end - line));
		else
			add_literal(text, line, (size_t)(end - line));
	}
}

static void add_heading(struct text *text, const char *name)
{
	text_add(text, ".TH \"");
	for (const char *p = name; *p; p++) {
		if (*p == '-')
			text_add(text, "\\-");
		else
			text_add_char(text, (char)toupper((unsigned char)*p));
	}
	text_add(text, "\" \"1\" \"" HW_DATE "\" \"heapwise " HW_VERSION "\" \"heapwise\"\n"
		       ".SH NAME\n");
	manual_add_words(text, name);
}

/* What stands behind the dash in NAME, for whatis(1): without a full stop. */
static void add_purpose(struct text *text, const char *what)
{
	size_t len = strlen(what);
	text_add(text, " \\- ");
	add_filled_n(text, what, len && what[len - 1] == '.' ? len - 1 : len);
}

static void add_option(struct text *text, const struct option_spec *spec)
{
	char letter[8] = "";
	if (spec->id <= OPTION_LETTER_MAX)
		snprintf(letter, sizeof(letter), "-%c, ", spec->id);
	text_add(text, ".TP\n\\fB");
	manual_add_words(text, letter);
	manual_add_words(text, "--");
	manual_add_words(text, spec->name);
	text_add(text, "\\fR");
	if (spec->argument) {
		text_add(text, spec->argument[0] == '[' ? "\\fI" : " \\fI");
		manual_add_words(text, spec->argument);
		text_add(text, "\\fR");
	}
	text_add_char(text, '\n');
	add_filled(text, spec->help);
}

static void add_subheading(struct text *text, const char *heading)
{
	if (!heading)
		return;
	text_add(text, ".SS ");
	manual_add_words(text, heading);
	text_add_char(text, '\n');
}

void manual_add(const struct command *command, struct text *text)
{
	_cleanup_(text_deinit) struct text name, about;
	text_init(&name);
	text_init(&about);
	text_printf(&name, "heapwise-%s", command->name);
	if (name.failed) {
		text->failed = true;
		return;
	}
	add_heading(text, name.data);
	add_purpose(text, command->what);
	text_add(text, ".SH SYNOPSIS\n\\fBheapwise ");
	manual_add_words(text, command->name);
	text_add(text, "\\fR ");
	add_filled(text, command->synopsis);
	text_add(text, ".SH DESCRIPTION\n");
	add_filled(text, command->what);
	if (command->about)
		text_add(&about, command->about);
	if (command->describe)
		command->describe(&about);
	if (about.data)
		add_prose(text, about.data);
	text->failed |= about.failed;
	text_add(text, ".SH OPTIONS\n");
	for (const struct option_spec *spec = command->options; spec && spec->name; spec++) {
		add_subheading(text, option_heading_find(command, spec));
		add_option(text, spec);
	}
	add_subheading(text, command->headings ? "Help" : NULL);
	add_option(text, &option_help);
	if (command->examples) {
		text_add(text, ".SH EXAMPLES\n");
		add_literal(text, command->examples, strlen(command->examples));
	}
	text_add(text, ".SH SEE ALSO\n.BR heapwise (1)\n");
}

void manual_add_tool(struct text *text)
{
	add_heading(text, "heapwise");
	add_purpose(text, tool_what);
	text_add(text, ".SH SYNOPSIS\n\\fBheapwise\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR\\|...]\n"
		       ".SH DESCRIPTION\n");
	add_filled(text, tool_what);
	text_add(text, ".SH COMMANDS\n");
	for (size_t i = 0; commands[i]; i++) {
		if (commands[i]->hidden)
			continue;
		text_add(text, ".TP\n\\fB");
		manual_add_words(text, commands[i]->name);
		text_add(text, "\\fR\n");
		add_filled(text, commands[i]->what);
	}
	text_add(text, ".SH SEE ALSO\n");
	for (size_t i = 0, first = 1; commands[i]; i++) {
		if (commands[i]->hidden)
			continue;
		text_printf(text, "%s.BR heapwise\\-%s (1)", first ? "" : ",\n", commands[i]->name);
		first = 0;
	}
	text_add_char(text, '\n');
}
