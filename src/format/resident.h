/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Chunks of RESIDENT: what the resident memory of a process was made of at some moments. FORMAT.md
 * is normative.
 */
#ifndef FORMAT_RESIDENT_H
#define FORMAT_RESIDENT_H

/* Columns: one row for each line of a sample. */
enum hpw_resident_column {
	HPW_RESIDENT_STAMP = 0, /* zigzag difference from the row before */
	HPW_RESIDENT_WHAT,      /* enum hpw_resident; HPW_RESIDENT_ALL begins a sample */
	HPW_RESIDENT_BYTES,
	HPW_RESIDENT_DETAIL, /* a stack, or how many */
	HPW_RESIDENT_KIND,   /* enum hpw_mapping */
	HPW_RESIDENT_LENGTH, /* of the name; 0: none */
	HPW_RESIDENT_NAMES,  /* bytes of all names, one after another */
	HPW_RESIDENT_COLUMNS
};

/* Rows of all RESIDENT together, and bytes of a name. */
#define HPW_RESIDENT_MAX (1u << 20)
#define HPW_RESIDENT_NAME_MAX 4096u

enum hpw_resident {
	HPW_RESIDENT_ALL = 0,       /* the sum of those after it, but for the next two */
	HPW_RESIDENT_REQUESTED = 1, /* by live blocks; DETAIL: how many. Missing: not known */
	HPW_RESIDENT_ROUNDING = 2,  /* what these lack to whole HPW_PADDED bytes */
	HPW_RESIDENT_HEAP = 3,      /* memory of the allocator, with and without blocks */
	HPW_RESIDENT_MAPPING = 4,   /* mapped by the program: DETAIL: stack, KIND; a file's name */
	HPW_RESIDENT_STACKS = 5,    /* of threads; DETAIL: how many mappings these are */
	HPW_RESIDENT_FILE = 6,      /* of a file: code and data of modules */
	HPW_RESIDENT_RECORDER = 7,  /* the recorder's own */
	HPW_RESIDENT_OTHER = 8,
	HPW_RESIDENT_WHATS
};

#endif
