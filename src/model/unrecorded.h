/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a program that a recorded process started, or went on as, has no recording. */
#ifndef MODEL_UNRECORDED_H
#define MODEL_UNRECORDED_H

#include <stdint.h>

enum unrecorded_reason {
	UNRECORDED_UNKNOWN, /* the source does not say it, or was written by a newer version */
	UNRECORDED_STATIC,
	UNRECORDED_SETUID, /* it starts with other rights than its starter has */
	UNRECORDED_CLASS,  /* 32-bit */
	UNRECORDED_MACHINE,
	UNRECORDED_SANITIZER,
	UNRECORDED_MUSL,
	UNRECORDED_UNWANTED, /* left out as the user wished */
	UNRECORDED_MANY,     /* too many processes at a time */
	UNRECORDED_FAILED,   /* recording could not be started */
	UNRECORDED_LATE,     /* it did not wait any longer for that */
	UNRECORDED_REASONS
};

/* For people, as it is in parentheses: "static", "set-user-ID"… */
const char *unrecorded_reason_text(enum unrecorded_reason reason);
/* For programs: "static", "setuid"… */
const char *unrecorded_reason_key(enum unrecorded_reason reason);

struct unrecorded_program {
	const char *path;  /* as it was asked for, or where it was found; "" if unknown */
	uint32_t pid;      /* the process's own: it went on as this program */
	uint64_t start_ns; /* since the recording began */
	enum unrecorded_reason reason;
};

#endif
