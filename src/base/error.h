/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors of the tool's side. A function that can fail returns struct error *, NULL for success; the
 * caller owns it. A message says what was attempted, on which file and offset, and why, without a
 * full stop or newline. Only cli/ shows it and turns the code into an exit status.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* The values are exit statuses. */
enum error_code {
	ERROR_USAGE = 2,       /* the command line asks for something that does not exist */
	ERROR_INPUT = 3,       /* a file is missing, foreign or damaged */
	ERROR_ENVIRONMENT = 4, /* the system refuses: memory, disk, permission, limits */
	ERROR_INTERNAL = 70,   /* a defect of heapwise */
};

struct error {
	enum error_code code;
	char *message;
};

#define must_check_ __attribute__((warn_unused_result))

/* Makes an error. This and the next two return error_no_memory() if there is no memory for it. */
struct error *error_create(enum error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3))) must_check_;

/* Appends ": " and the text of `err`, an errno value. */
struct error *error_errno(enum error_code code, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4))) must_check_;

/* Puts the formatted text and ": " before the message. Takes `error` over; NULL stays NULL. */
struct error *error_prefix(struct error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3))) must_check_;

/* Returns a static ERROR_ENVIRONMENT "out of memory", which may be destroyed like any other error.
 */
struct error *error_no_memory(void) must_check_;

/* Frees an error; NULL is allowed. */
void error_destroy(struct error *error);

#endif
