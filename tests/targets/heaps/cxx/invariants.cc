/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects with a vector and a string, some of them lost, and what looks like them: "?", held by
 * void * alone, is one of them but for what vectors and strings always keep.
 */
#include <string>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

#define RECORDS 40u
#define IMPOSTORS 9u

struct Triple {
	long first, second, third;
};

struct Record {
	Record *next;
	std::vector<Triple> values;
	std::string name;
	long number;
};

static Record *list;
static void *slots[IMPOSTORS * RECORDS];
static std::vector<Record *> *lost;

static Record *new_record(unsigned i, char leak, const char *type, Record *next)
{
	Record *record = new Record();
	account(record, sizeof(*record), leak, type);
	record->next = next;
	record->values.resize(2 + i % 3);
	record->values.pop_back();
	record->name = i % 2 ? std::string("short") : std::string(40 + i % 7, 'x');
	record->number = i;
	return record;
}

/* The words of a record's vector, or of its string. */
static unsigned long *words_of(void *part)
{
	return static_cast<unsigned long *>(part);
}

/* Each breaks one thing. */
static void break_it(Record *record, unsigned how)
{
	unsigned long *vector = words_of(&record->values), *string = words_of(&record->name);
	switch (how) {
	case 0: /* ends before it begins */
		vector[1] = vector[0];
		vector[0] += 16;
		break;
	case 1: /* its memory ends before its elements do */
		vector[2] = vector[0];
		break;
	case 2: /* more than its block has */
		vector[2] = vector[0] + 24 * 4096;
		break;
	case 3: /* a part of an element */
		vector[1] = vector[0] + 8;
		break;
	case 4: /* begins in the middle of its block */
		vector[0] += 24;
		vector[1] += 24;
		break;
	case 5: /* longer than there is room for */
		string[1] = 4000;
		break;
	case 6: /* more room than its block has */
		string[2] = 4000;
		break;
	case 7: /* does not end there */
		string[1] = 3;
		break;
	default: /* a short one that is too long */
		string[0] = reinterpret_cast<unsigned long>(string + 2);
		string[1] = 16;
		break;
	}
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, nullptr, _IONBF, 0);
	for (unsigned i = 0; i < RECORDS; i++)
		list = new_record(i, 'r', "Record", list);
	for (unsigned i = 0; i < IMPOSTORS * RECORDS; i++) {
		Record *record = new_record(i / IMPOSTORS * 2, 'r', "?", list);
		break_it(record, i % IMPOSTORS);
		slots[i] = record;
	}
	/* Lost, but for what it holds. */
	lost = new std::vector<Record *>();
	for (unsigned i = 0; i < RECORDS; i++)
		lost->push_back(new_record(i, 'd', "Record", list));
	for (Record *&record : *lost)
		record = nullptr;
	account_end();
	return !list || !slots[0] || !lost;
}
