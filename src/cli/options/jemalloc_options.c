/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/jemalloc_options.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/elf_text.h"
#include "runtime/shims/jemalloc_conf.h"

/* By the options of the environment, and of the program (NULL: it has none). */
static struct error *choose_mode(const char *program_text, struct mode *mode)
{
	_cleanup_free_ struct je_conf *conf = malloc(sizeof(*conf));
	char link[PATH_MAX + 1];
	if (!conf)
		return error_no_memory();
	ssize_t bytes = readlink(JE_CONF_LINK, link, PATH_MAX);
	link[bytes > 0 ? bytes : 0] = 0;
	struct je_conf_texts texts = {{NULL}};
	texts.text[JE_CONF_PROGRAM] = program_text;
	texts.text[JE_CONF_ETC] = link;
	texts.text[JE_CONF_ENV] = getenv(JE_CONF_VARIABLE);
	je_conf_read(&texts, NULL, NULL, conf);
	bool samples = conf->prof && conf->lg_prof_sample;
	mode->kind = samples ? MODE_SAMPLE : MODE_EXACT;
	mode->sample_bytes = samples ? 1ull << conf->lg_prof_sample : 0;
	return NULL;
}

struct error *jemalloc_options_prepare(struct launch_options *launch)
{
	return launch->mode.is_chosen ? NULL : choose_mode(NULL, &launch->mode);
}

struct error *jemalloc_options_examine(const char *image, struct launch_options *launch)
{
	_cleanup_free_ char *text = elf_find_text(image, "malloc_conf");
	return launch->mode.is_chosen || !text ? NULL : choose_mode(text, &launch->mode);
}
