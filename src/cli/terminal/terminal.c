/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"
#include "base/util.h"
#include "cli/options/options.h"

#define OTHER_WIDTH 100u

bool colour_when_parse(const char *text, enum colour_when *ret)
{
	static const char *const words[] = {
		[COLOUR_AUTO] = "auto", [COLOUR_ALWAYS] = "always", [COLOUR_NEVER] = "never"};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(text, words[i]) == 0) {
			*ret = (enum colour_when)i;
			return true;
		}
	return false;
}

bool terminal_has_colour(enum colour_when when)
{
	if (when != COLOUR_AUTO)
		return when == COLOUR_ALWAYS;
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(STDOUT_FILENO) && !(no_colour && no_colour[0]) && term &&
	       strcmp(term, "dumb") != 0;
}

bool terminal_is_output(void)
{
	return isatty(STDOUT_FILENO);
}

size_t terminal_width(void)
{
	struct winsize size;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	const char *columns = getenv("COLUMNS");
	uint64_t number;
	return columns && number_whole(columns, &number) ? (size_t)number : OTHER_WIDTH;
}

bool terminal_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);
		if (value && value[0])
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}
