/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/setup/fetch.h"

#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "query/urls.h"

int fetch_words(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!url_is(argv[i]))
			continue;
		char *path = NULL;
		struct error *error = url_fetch(cli_context(), argv[i], &path);
		if (error)
			return message_error(error);
		message("%s: saved as %s", argv[i], path);
		argv[i] = path; /* for good */
	}
	return 0;
}
