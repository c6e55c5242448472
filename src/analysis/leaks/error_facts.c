/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See error_facts.h. Kinds are the words of memcheck's XML (docs/internals/xml-output-protocol4.txt
 * and mc_errors.c), which recordings have, too; what the words do not say the sentence does: files
 * of other checkers have nothing else.
 */
#include "analysis/leaks/error_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

static const struct error_word {
	const char *kind;
	uint64_t kinds;
} error_words[] = {
	{"InvalidRead", SUPPRESS_ADDR_ALL},
	{"InvalidWrite", SUPPRESS_ADDR_ALL},
	{"UninitValue", SUPPRESS_VALUE_ALL},
	{"UninitCondition", SUPPRESS_BIT(SUPPRESS_COND)},
	{"SyscallParam", SUPPRESS_BIT(SUPPRESS_PARAM)},
	{"InvalidJump", SUPPRESS_BIT(SUPPRESS_JUMP)},
	{"InvalidFree", SUPPRESS_BIT(SUPPRESS_FREE)},
	{"DoubleFree", SUPPRESS_BIT(SUPPRESS_FREE)},
	{"MismatchedFree", SUPPRESS_BIT(SUPPRESS_FREE) | SUPPRESS_BIT(SUPPRESS_MISMATCH)},
	{"Overlap", SUPPRESS_BIT(SUPPRESS_OVERLAP)},
	{"CoreMemError", SUPPRESS_BIT(SUPPRESS_CORE_MEM)},
	{"ClientCheck", SUPPRESS_BIT(SUPPRESS_USER)},
	{"InvalidMemPool", SUPPRESS_BIT(SUPPRESS_MEMPOOL)},
	{"FishyValue", SUPPRESS_BIT(SUPPRESS_FISHY_VALUE)},
	{"ReallocSizeZero", SUPPRESS_BIT(SUPPRESS_REALLOC_ZERO)},
	{"InvalidSize", SUPPRESS_BIT(SUPPRESS_BAD_SIZE)},
	{"InvalidAlignment", SUPPRESS_BIT(SUPPRESS_BAD_ALIGN)},
	{"MismatchedAllocateDeallocateSize", SUPPRESS_BIT(SUPPRESS_SIZE_MISMATCH)},
	{"MismatchedAllocateDeallocateAlignment", SUPPRESS_BIT(SUPPRESS_ALIGN_MISMATCH)},
	{"UnsafeZeroSize", SUPPRESS_BIT(SUPPRESS_UNSAFE_ZERO_SIZE)},
};

static uint64_t kinds_of_word(const char *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(error_words); i++)
		if (!strcmp(error_words[i].kind, kind))
			return error_words[i].kinds;
	return 0;
}

/* "Invalid read of size 4": 4; 0: it says none. */
static uint64_t size_of_sentence(const char *what)
{
	static const char words[] = " of size ";
	const char *at = strstr(what, words);
	return at ? strtoull(at + strlen(words), NULL, 10) : 0;
}

/* Which of the sizes that memcheck knows it is; those of all sizes for others, which only
 * functions that access many bytes have: memcheck would tell of their single accesses. */
static uint64_t kinds_of_size(uint64_t kinds, uint64_t size)
{
	static const uint64_t sizes[] = {1, 2, 4, 8, 16, 32};
	unsigned first = kinds == SUPPRESS_ADDR_ALL ? SUPPRESS_ADDR1 : SUPPRESS_VALUE1;
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		if (sizes[i] == size)
			return SUPPRESS_BIT(first + i);
	return kinds;
}

uint64_t error_facts_kinds(const struct program_error *error)
{
	uint64_t kinds = kinds_of_word(error->kind);
	if (kinds != SUPPRESS_ADDR_ALL && kinds != SUPPRESS_VALUE_ALL)
		return kinds;
	if (error->access.known)
		return kinds_of_size(kinds, error->access.exact ? error->access.bytes : 0);
	return kinds_of_size(kinds, size_of_sentence(error->what));
}

/* Adds what is between two parts of a sentence. False: it has no such parts. */
static bool add_between(const char *what, const char *before, const char *after, struct text *ret)
{
	const char *start = strstr(what, before);
	const char *end = start ? strstr(start + strlen(before), after) : NULL;
	if (!end)
		return false;
	start += strlen(before);
	text_add_n(ret, start, (size_t)(end - start));
	return true;
}

void error_facts_add_extra(const struct program_error *error, struct text *ret)
{
	const char *what = error->what;
	if (!strcmp(error->kind, "SyscallParam")) {
		if (!add_between(what, "Syscall param ", " contains ", ret))
			add_between(what, "Syscall param ", " points to ", ret);
		return;
	}
	if (strcmp(error->kind, "FishyValue") != 0)
		return;
	/* Of recordings: "The size given to malloc has a fishy (possibly negative) value: -1" */
	if (add_between(what, "The size given to ", " has ", ret)) {
		text_add(ret, strchr(ret->data ? ret->data : "", '(') ? "" : "(size)");
		return;
	}
	/* "Argument 'size' of function malloc has a fishy (possibly negative) value: -1" */
	if (!add_between(what, " of function ", " has ", ret))
		return;
	text_add_char(ret, '(');
	add_between(what, "Argument '", "' of ", ret);
	text_add_char(ret, ')');
}

/* Functions that free, by how sentences begin; the first is for those that begin otherwise. */
static const char *const free_names[] = {"cfree", "realloc", "_ZdlPv", "_ZdlPvm",
	"_ZdlPvRKSt9nothrow_t", "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdaPv",
	"_ZdaPvm", "_ZdaPvRKSt9nothrow_t", "_ZdaPvSt11align_val_t", "_ZdaPvmSt11align_val_t"};
static const struct called {
	const char *beginning, *function;
	const char *const *aliases;
	size_t alias_count;
} calls[] = {
	{"free()", "free", free_names, 1},
	{"realloc()", "realloc", NULL, 0},
	{"operator delete[]", "_ZdaPv", free_names + 8, 4},
	{"operator delete", "_ZdlPv", free_names + 3, 4},
	{"", "free", free_names, ARRAY_SIZE(free_names)},
};

static void free_called(const struct program_error *error, struct suppress_frame *ret)
{
	size_t i = 0;
	while (strncmp(error->what, calls[i].beginning, strlen(calls[i].beginning)) != 0)
		i++;
	ret->function = calls[i].function;
	ret->aliases = calls[i].aliases;
	ret->alias_count = calls[i].alias_count;
}

/* "Invalid read of size 5 in memcpy", "Source and destination overlap in memcpy(0x…": memcpy. */
static bool add_called(const char *what, struct text *ret)
{
	const char *at = strstr(what, " in ");
	size_t len = at ? strcspn(at + 4, "( ") : 0;
	text_add_n(ret, at ? at + 4 : "", len);
	return len > 0;
}

bool error_facts_called(
	const struct program_error *error, struct text *name, struct suppress_frame *ret)
{
	uint64_t kinds = error_facts_kinds(error);
	/* Inlined, so that entries that leave it out hold as well. */
	*ret = (struct suppress_frame){.inlined = true};
	if (kinds & SUPPRESS_BIT(SUPPRESS_FREE)) {
		free_called(error, ret);
		return true;
	}
	if (!(kinds & (SUPPRESS_ADDR_ALL | SUPPRESS_BIT(SUPPRESS_OVERLAP))) ||
		!add_called(error->what, name) || name->failed)
		return false;
	ret->function = name->data;
	return true;
}

static bool has_any_prefix(const char *name, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Whether functions of a file are libc's, or stand for them; of no known file: they may be. */
static bool is_of_libc(const char *object)
{
	static const char *const files[] = {
		"libc.so", "libc-", "libpthread", "vgpreload_", "libheapwise-"};
	const char *slash = object ? strrchr(object, '/') : NULL;
	return !object || has_any_prefix(slash ? slash + 1 : object, files, ARRAY_SIZE(files));
}

/* Families of the functions that sanitizer_common_interceptors.inc wraps. */
static bool is_intercepted(const char *function)
{
	static const char *const families[] = {"mem", "str", "wcs", "wmem", "bcmp", "bzero", "read",
		"pread", "write", "pwrite", "recv", "send", "fread", "fwrite", "printf", "fprintf",
		"sprintf", "snprintf", "vprintf", "vfprintf", "vsprintf", "vsnprintf", "scanf",
		"fscanf", "sscanf", "puts", "fputs", "atoi", "atol", "index", "rindex", "stpcpy",
		"stpncpy"};
	function += strspn(function, "_");
	return has_any_prefix(function, families, ARRAY_SIZE(families));
}

/* "write(buf)": write; "socketcall.sendto(msg)": sendto */
static void add_system_call(const struct program_error *error, struct text *ret)
{
	_cleanup_(text_deinit) struct text extra;
	text_init(&extra);
	error_facts_add_extra(error, &extra);
	const char *name = extra.data ? extra.data : "";
	size_t len = strcspn(name, "(");
	const char *dot = memrchr(name, '.', len);
	if (dot) {
		len -= (size_t)(dot + 1 - name);
		name = dot + 1;
	}
	text_add_n(ret, name, len);
	ret->failed |= extra.failed;
}

void error_facts_add_call(
	const struct program_error *error, const struct suppress_frame *top, struct text *ret)
{
	uint64_t kinds = error_facts_kinds(error);
	const char *function = top->demangled ? top->demangled : top->function;
	if (kinds & SUPPRESS_BIT(SUPPRESS_OVERLAP))
		add_called(error->what, ret);
	else if (kinds & SUPPRESS_BIT(SUPPRESS_PARAM))
		add_system_call(error, ret);
	else if (kinds & SUPPRESS_ADDR_ALL && function && is_of_libc(top->object) &&
		 is_intercepted(function))
		text_add(ret, function);
}
