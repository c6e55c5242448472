/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a module's code, or anything else of it, has a name. */
#ifndef SYMBOLS_MENTIONS_H
#define SYMBOLS_MENTIONS_H

#include "symbols/symbols.h"

struct symbols_mention {
	/* Its files are there, are the right ones by their build-id, and have names of all code;
	 * else nothing below tells. */
	bool known;
	bool found;         /* the name is in them, be it of something else */
	unsigned functions; /* of that name, as the symbol table has them: those not inlined */
};

/* `name` as the linker knows it. Reads the module's files anew. The only errors are of memory. */
struct error *symbols_mention(struct symbols *symbols, uint32_t module, const char *name,
	struct symbols_mention *ret) must_check_;

#endif
