/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Demangling by libiberty, through its callbacks: a mangled name of a hundred bytes can stand for
 * gigabytes (a substitution doubles), and only a callback can stop that. The callback forms keep
 * nothing on the heap, so that they may be left by longjmp.
 */
#include "symbols/name.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#define LINKAGE_NAME_MAX 16384u
#define DEMANGLED_MAX 32768u

/* What compilers append to the name of a copy or part of a function, each after a dot. */
static const char *const copy_suffixes[] = {
	"clone",
	"cold",
	"constprop",
	"isra",
	"llvm",
	"localalias",
	"lto_priv",
	"part",
	"simdclone",
};

static size_t suffix_len(const char *dot)
{
	for (size_t i = 0; i < ARRAY_SIZE(copy_suffixes); i++) {
		size_t len = strlen(copy_suffixes[i]) + 1;
		if (strncmp(dot + 1, copy_suffixes[i], len - 1) != 0)
			continue;
		/* ".isra.0", and ".cold" alone. */
		if (dot[len] == '.' && isdigit((unsigned char)dot[len + 1]))
			for (len++; isdigit((unsigned char)dot[len]);)
				len++;
		if (dot[len] == '\0' || dot[len] == '.')
			return len;
	}
	return 0;
}

bool name_is_mangled(const char *linkage_name)
{
	return linkage_name[0] == '_' && (linkage_name[1] == 'Z' || linkage_name[1] == 'R');
}

size_t name_plain_len(const char *name)
{
	size_t whole = strcspn(name, "@");
	for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
		const char *end = dot;
		for (size_t len; *end == '.' && (len = suffix_len(end)) > 0;)
			end += len;
		if (dot != name && (size_t)(end - name) == strlen(name))
			return (size_t)(dot - name);
	}
	return whole ? whole : strlen(name);
}

struct demangling {
	struct text *text;
	size_t start;
	jmp_buf too_long;
};

static void name_add_part(const char *part, size_t len, void *ctx)
{
	struct demangling *demangling = ctx;
	text_add_n(demangling->text, part, len);
	if (demangling->text->failed || demangling->text->len - demangling->start > DEMANGLED_MAX)
		longjmp(demangling->too_long, 1);
}

static void text_cut(struct text *text, size_t len)
{
	if (text->len > len) {
		text->len = len;
		text->data[len] = '\0';
	}
}

typedef int demangle_fn(const char *mangled, int options, demangle_callbackref add, void *ctx);

/* false: not such a name, and nothing was added. */
static bool try_demangle(demangle_fn *demangle, int options, struct text *text, const char *mangled)
{
	struct demangling demangling = {.text = text, .start = text->len};
	if (setjmp(demangling.too_long) == 0 &&
		demangle(mangled, options, name_add_part, &demangling) &&
		text->len > demangling.start)
		return true;
	/* A demangler may give up half way. */
	text_cut(text, demangling.start);
	return false;
}

static void name_add_name(struct text *text, const char *linkage_name, size_t len, int options)
{
	if (len < LINKAGE_NAME_MAX && name_is_mangled(linkage_name)) {
		char mangled[LINKAGE_NAME_MAX];
		memcpy(mangled, linkage_name, len);
		mangled[len] = '\0';
		if (try_demangle(rust_demangle_callback, options, text, mangled) ||
			try_demangle(cplus_demangle_v3_callback, options, text, mangled))
			return;
	}
	text_add_n(text, linkage_name, len);
}

void name_add_demangled(struct text *text, const char *linkage_name)
{
	name_add_name(text, linkage_name, name_plain_len(linkage_name), DMGL_ANSI);
}

void name_add_whole(struct text *text, const char *linkage_name)
{
	size_t len = strcspn(linkage_name, "@");
	name_add_name(
		text, linkage_name, len ? len : strlen(linkage_name), DMGL_ANSI | DMGL_PARAMS);
}
