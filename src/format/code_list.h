/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CODE_NAMES: see FORMAT.md. */
#ifndef FORMAT_CODE_LIST_H
#define FORMAT_CODE_LIST_H

enum hpw_code_names_column {
	HPW_CODE_NAMES_ADDRESS = 0,
	HPW_CODE_NAMES_LENGTH = 1,
	HPW_CODE_NAMES_BYTES = 2,
	HPW_CODE_NAMES_LIST = 3, /* one varint: enum hpw_code_list */
	HPW_CODE_NAMES_COLUMNS = 4
};

/* What became of the list of code that the process made at run time, /tmp/perf-PID.map. */
enum hpw_code_list {
	HPW_CODE_LIST_UNSOUGHT = 0, /* no stack needs it, or the writer does not say */
	HPW_CODE_LIST_READ = 1,
	HPW_CODE_LIST_MISSING = 2,
	HPW_CODE_LIST_STALE = 3,    /* it was older than the process */
	HPW_CODE_LIST_STRANGER = 4, /* it belonged to neither the process's user nor root */
	HPW_CODE_LIST_ODD = 5,      /* it was no plain file */
	HPW_CODE_LIST_CLOSED = 6,   /* it could not be opened */
	HPW_CODE_LIST_CUT = 7,      /* it was read, but not all of it */
	HPW_CODE_LIST_KINDS = 8
};

#endif
