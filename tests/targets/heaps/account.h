/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program itself says of its blocks, in a file that outlives it: for tests that compare this
 * with what is read from its memory. Rows are of 64 bytes, in the order of account().
 *
 *     PROGRAM ACCOUNT-FILE abort|wait|exit
 *
 * Addresses are stored inverted, so that the file's mapping holds no block.
 */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ACCOUNT_ROWS (1u << 17)

struct account_row {
	uint64_t address; /* inverted */
	uint64_t size;    /* as it was asked for */
	char state;       /* 'u' used, 'f' freed */
	char leak; /* of a used one 'r' reachable, 'd' definite, 'i' indirect, 'p' possible */
	char type[46];
};

struct account_file {
	struct account_row *rows;
	const char *end; /* argv[2] */
	unsigned count;
};
extern struct account_file account_file;

/* What a program with one file needs once. */
#define ACCOUNT_DEFINE struct account_file account_file

static inline void account_open(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: %s ACCOUNT-FILE abort|wait|exit\n", argv[0]);
		exit(2);
	}
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, ACCOUNT_ROWS * (off_t)sizeof(struct account_row)) < 0) {
		perror(argv[1]);
		exit(2);
	}
	void *rows = mmap(NULL, ACCOUNT_ROWS * sizeof(struct account_row), PROT_READ | PROT_WRITE,
		MAP_SHARED, fd, 0);
	close(fd);
	account_file.rows = (struct account_row *)rows;
	account_file.end = argv[2];
}

/* A new block; returns the row's number. Threads may do so at a time. */
static inline unsigned account(const void *block, size_t size, char leak, const char *type)
{
	unsigned number = __atomic_fetch_add(&account_file.count, 1, __ATOMIC_RELAXED);
	if (number >= ACCOUNT_ROWS)
		abort();
	struct account_row *row = &account_file.rows[number];
	row->address = ~(uint64_t)(uintptr_t)block;
	row->size = size;
	row->leak = leak;
	strncpy(row->type, type, sizeof(row->type) - 1);
	row->state = 'u';
	return number;
}

static inline void account_freed(unsigned number)
{
	account_file.rows[number].state = 'f';
}

/* The moment that is looked at. */
static inline void account_end(void)
{
	if (write(1, "ready\n", 6) != 6)
		exit(1);
	if (!strcmp(account_file.end, "abort"))
		abort();
	while (!strcmp(account_file.end, "wait"))
		pause();
}

#endif
