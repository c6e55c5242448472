/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a heap dump in HPROF's binary format, one number after another. The format is
 * described by the JDK's "HPROF Agent" manual (1.0.1) and the head of HotSpot's heapDumper.cpp
 * (1.0.2):
 *
 *	"JAVA PROFILE 1.0.2" NUL, u4 bytes of an id, u8 time in ms
 *	records: u1 tag, u4 microseconds, u4 length, body
 *	in the bodies of HEAP DUMP and HEAP DUMP SEGMENT entries: u1 tag, then what it stands for
 *
 * Numbers are big endian. An id is an object's address, or that of a name.
 */
#ifndef SOURCES_HPROF_RECORDS_H
#define SOURCES_HPROF_RECORDS_H

#include "base/buf.h"
#include "sources/recording/stream.h"

enum hprof_record {
	HPROF_UTF8 = 0x01,
	HPROF_LOAD_CLASS = 0x02,
	HPROF_FRAME = 0x04,
	HPROF_TRACE = 0x05,
	HPROF_HEAP_DUMP = 0x0c,
	HPROF_HEAP_DUMP_SEGMENT = 0x1c,
	HPROF_HEAP_DUMP_END = 0x2c,
};

enum hprof_entry {
	HPROF_ROOT_JNI_GLOBAL = 0x01,
	HPROF_ROOT_JNI_LOCAL = 0x02,
	HPROF_ROOT_JAVA_FRAME = 0x03,
	HPROF_ROOT_NATIVE_STACK = 0x04,
	HPROF_ROOT_STICKY_CLASS = 0x05,
	HPROF_ROOT_THREAD_BLOCK = 0x06,
	HPROF_ROOT_MONITOR = 0x07,
	HPROF_ROOT_THREAD = 0x08,
	HPROF_CLASS = 0x20,
	HPROF_INSTANCE = 0x21,
	HPROF_OBJECT_ARRAY = 0x22,
	HPROF_PRIMITIVE_ARRAY = 0x23,
	HPROF_ROOT_UNKNOWN = 0xff,
};

enum hprof_type {
	HPROF_OBJECT = 2,
	HPROF_BOOLEAN = 4,
	HPROF_CHAR,
	HPROF_FLOAT,
	HPROF_DOUBLE,
	HPROF_BYTE,
	HPROF_SHORT,
	HPROF_INT,
	HPROF_LONG,
};
#define HPROF_TYPES 12u

/* Longer names are no Java names: 65,535 bytes in a class file. */
#define HPROF_TEXT_MAX (1u << 20)
/* Bytes of the fields of an instance: a class file has at most 65,535 of 8 bytes. */
#define HPROF_INSTANCE_MAX (1u << 24)

struct hprof_records {
	struct stream stream;
	const uint8_t *at, *end;
	uint64_t end_offset; /* in the unpacked file, of `end` */
	uint64_t left;       /* bytes of the record that is being read */
	unsigned id_bytes;   /* 4 or 8 */
	struct buf joined;   /* what was in two parts of the stream */
};

/* Opens the file and reads its head; `input` must outlive it. Close it even then. */
struct error *hprof_records_open(
	struct hprof_records *records, const struct input *input) must_check_;
void hprof_records_close(struct hprof_records *records);
/* Passes over what is left of a record, and begins the next one; *ret 0: there is none. */
struct error *hprof_record_next(struct hprof_records *records, unsigned *ret) must_check_;
/* Takes a number of 1 to 8 bytes of the record. */
struct error *hprof_number(
	struct hprof_records *records, unsigned bytes, uint64_t *ret) must_check_;
struct error *hprof_id(struct hprof_records *records, uint64_t *ret) must_check_;
/* Takes bytes of the record; they live until the next call. */
struct error *hprof_bytes(
	struct hprof_records *records, size_t len, const uint8_t **ret) must_check_;
struct error *hprof_skip(struct hprof_records *records, uint64_t len) must_check_;
/* Bytes of a value of that type in the file; 0: there is no such type. */
unsigned hprof_type_bytes(const struct hprof_records *records, uint64_t type);

/* An ERROR_INPUT "NAME: offset N: …". */
struct error *hprof_error(const struct hprof_records *records, const char *format, ...)
	__attribute__((format(printf, 2, 3))) must_check_;

static inline uint64_t hprof_decode(const uint8_t *data, unsigned bytes)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | data[i];
	return value;
}

#endif
