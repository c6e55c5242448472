/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: a real jemalloc reads its options, at the first allocation (secure_getenv()); when the
 * library is loaded. May touch: the environment, /etc/malloc.conf, the loader's tables.
 */
#include "runtime/shims/jemalloc/texts.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "runtime/shims/jemalloc/mallctl.h"

#define API __attribute__((visibility("default")))

/* What a real jemalloc reads in addition, so that it writes no dumps: the last word counts. */
#define SENT_TO_REAL "prof:false,prof_leak:false,prof_leak_error:false,prof_final:false"

/* The program's, if it has them. */
extern const char *malloc_conf __attribute__((weak));
extern const char *je_malloc_conf __attribute__((weak));
extern const char *_rjem_malloc_conf __attribute__((weak));
extern const char *malloc_conf_2_conf_harder __attribute__((weak));

/* As <stdlib.h> declares it. */
char *secure_getenv(const char *name);

const struct je_real *je_real_find(void)
{
	static struct je_real real;
	static bool found;
	if (!__atomic_load_n(&found, __ATOMIC_ACQUIRE)) {
		real.nametomib = (je_nametomib_function *)dlsym(RTLD_NEXT, "mallctlnametomib");
		real.bymib = (je_bymib_function *)dlsym(RTLD_NEXT, "mallctlbymib");
		real.stats_print =
			(je_stats_print_function *)dlsym(RTLD_NEXT, "malloc_stats_print");
		real.mallctl = (je_mallctl_function *)dlsym(RTLD_NEXT, "mallctl");
		if (!real.nametomib || !real.bymib || !real.stats_print)
			real.mallctl = NULL;
		__atomic_store_n(&found, true, __ATOMIC_RELEASE);
	}
	return real.mallctl ? &real : NULL;
}

bool je_texts_are_ours(void)
{
	je_mallctl_function *reached = mallctl;
	__asm__("" : "+r"(reached)); /* by the loader's table, whatever the compiler knows */
	return reached == je_mallctl_inner;
}

static const char *text_of_program(void)
{
	const char *const *const all[] = {&malloc_conf, &je_malloc_conf, &_rjem_malloc_conf};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *const *at = all[i];
		__asm__("" : "+r"(at));
		if (at && *at)
			return *at;
	}
	return NULL;
}

static char *find_variable(const char *name)
{
	return getauxval(AT_SECURE) ? NULL : getenv(name);
}

void je_texts_collect(char buffer[PATH_MAX + 1], struct je_conf_texts *ret)
{
	*ret = (struct je_conf_texts){{NULL}};
	ret->text[JE_CONF_PROGRAM] = text_of_program();
	int error = errno;
	ssize_t bytes = readlink(JE_CONF_LINK, buffer, PATH_MAX);
	errno = error;
	buffer[bytes > 0 ? bytes : 0] = 0;
	ret->text[JE_CONF_ETC] = buffer;
	ret->text[JE_CONF_ENV] = find_variable(JE_CONF_VARIABLE);
	const char *const *harder = &malloc_conf_2_conf_harder;
	__asm__("" : "+r"(harder));
	ret->text[JE_CONF_PROGRAM2] = harder ? *harder : NULL;
}

/* The variable with what a real jemalloc is to read in addition; NULL: that is nothing. */
static char *text_for_real(void)
{
	static char sent[2 * PATH_MAX];
	static struct je_conf conf;
	char buffer[PATH_MAX + 1];
	struct je_conf_texts texts;
	je_texts_collect(buffer, &texts);
	je_conf_read(&texts, NULL, NULL, &conf);
	const char *text = texts.text[JE_CONF_ENV];
	size_t bytes = text ? strlen(text) : 0;
	if (!conf.prof || bytes + sizeof("," SENT_TO_REAL) > sizeof(sent))
		return NULL;
	if (bytes)
		memcpy(sent, text, bytes + 1);
	if (bytes && sent[bytes - 1] != ',')
		sent[bytes++] = ',';
	memcpy(sent + bytes, SENT_TO_REAL, sizeof(SENT_TO_REAL));
	return sent;
}

/*
 * libc's, but for the one name: a jemalloc asks for its options with this function, before the
 * first block is there and so before any other way to reach it. One of both profilers writes the
 * dumps: this one, which sees what is allocated from any allocator.
 */
API char *secure_getenv(const char *name)
{
	char *text =
		!strcmp(name, JE_CONF_VARIABLE) && je_texts_are_ours() ? text_for_real() : NULL;
	return text ? text : find_variable(name);
}
