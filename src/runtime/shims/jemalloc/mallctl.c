/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls a function of jemalloc/jemalloc.h; any thread. May touch: what the
 * name stands for; the program's memory that it gives.
 *
 * Errors are those of jemalloc 5.3's src/ctl.c: EINVAL for a wrong size (of what is read, as much
 * as fits is there), EPERM for writing what is only to be read and the reverse, ENOENT for an
 * unknown name. Names that are not the profiler's are passed on to a real jemalloc, if one is
 * there.
 */
#include "runtime/shims/jemalloc/mallctl.h"

#include <errno.h>
#include <string.h>

#include "runtime/shims/jemalloc/names.h"
#include "runtime/shims/jemalloc/profiler.h"
#include "runtime/shims/jemalloc/texts.h"

#define API __attribute__((visibility("default")))

/* Above all numbers of a real jemalloc's names; the lowest byte is the number in the table. */
#define MIB_MARK 0x68770000u
#define MIB_NUMBER 0xffu

static int read_value_of(
	const struct je_name *name, const union je_value *value, void *oldp, size_t *oldlenp)
{
	if (!oldp || !oldlenp)
		return 0;
	size_t bytes = je_type_bytes(name->type), fits = *oldlenp < bytes ? *oldlenp : bytes;
	memcpy(oldp, value, fits);
	if (*oldlenp == bytes)
		return 0;
	*oldlenp = fits;
	return EINVAL;
}

static int write_value_of(const struct je_name *name, const void *newp, size_t newlen)
{
	union je_value value = {.u64 = 0};
	if (!newp)
		return name->sets_nothing ? name->set(NULL) : name->get ? 0 : EINVAL;
	if (newlen != je_type_bytes(name->type))
		return EINVAL;
	memcpy(&value, newp, newlen);
	return name->set(&value);
}

static int exchange_value(
	const struct je_name *name, void *oldp, size_t *oldlenp, const void *newp, size_t newlen)
{
	union je_value before = {.u64 = 0};
	bool reads = oldp && oldlenp, writes = newp || newlen;
	int error = 0;
	if (name->needs_prof && !je_conf.prof)
		return ENOENT;
	if ((writes && !name->set) || ((oldp || oldlenp) && !name->get) ||
		(name->reads_xor_writes && reads && writes))
		return EPERM;
	if (name->get)
		error = name->get(&before);
	if (!error && name->set)
		error = write_value_of(name, newp, newlen);
	return error ? error : read_value_of(name, &before, oldp, oldlenp);
}

/* The row that is to answer here, and not a real jemalloc; NULL: there is none. */
static const struct je_name *row_of(int number, const struct je_real *real)
{
	const struct je_name *row = number < 0 ? NULL : je_name_get((size_t)number);
	return row && (row->of_profiler || !real) ? row : NULL;
}

int je_mallctl_inner(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen)
{
	const struct je_real *real = je_real_find();
	const struct je_name *row = row_of(je_name_find(name), real);
	if (row)
		return exchange_value(row, oldp, oldlenp, newp, newlen);
	return real ? real->mallctl(name, oldp, oldlenp, newp, newlen) : ENOENT;
}

static size_t count_parts(const char *name)
{
	size_t ret = 1;
	for (const char *p = name; *p; p++)
		ret += *p == '.';
	return ret;
}

API int mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp)
{
	const struct je_real *real = je_real_find();
	int number = je_name_find(name);
	if (!row_of(number, real))
		return real ? real->nametomib(name, mibp, miblenp) : ENOENT;
	size_t parts = count_parts(name);
	if (*miblenp > parts)
		*miblenp = parts;
	for (size_t i = 0; i < *miblenp; i++)
		mibp[i] = i ? 0 : MIB_MARK | (size_t)number;
	return 0;
}

API int mallctlbymib(
	const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp, size_t newlen)
{
	const struct je_real *real = je_real_find();
	if (!miblen || (mib[0] & ~(size_t)MIB_NUMBER) != MIB_MARK)
		return real ? real->bymib(mib, miblen, oldp, oldlenp, newp, newlen) : ENOENT;
	const struct je_name *row = row_of((int)(mib[0] & MIB_NUMBER), real);
	if (!row || count_parts(row->name) != miblen)
		return ENOENT;
	return exchange_value(row, oldp, oldlenp, newp, newlen);
}

API int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen)
	__attribute__((alias("je_mallctl_inner")));

/* With the prefixes with which other builds of jemalloc have them. */
#define DEFINE_PREFIXED(prefix)                                                                    \
	API int prefix##mallctl(const char *, void *, size_t *, void *, size_t)                    \
		__attribute__((alias("je_mallctl_inner")));                                        \
	API int prefix##mallctlnametomib(const char *, size_t *, size_t *)                         \
		__attribute__((alias("mallctlnametomib")));                                        \
	API int prefix##mallctlbymib(const size_t *, size_t, void *, size_t *, void *, size_t)     \
		__attribute__((alias("mallctlbymib")));

DEFINE_PREFIXED(je_)
DEFINE_PREFIXED(_rjem_)
