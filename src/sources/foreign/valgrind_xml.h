/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source "valgrind": XML of Valgrind's checkers (--xml=yes), protocols 4, 5 and 6
 * (docs/internals/xml-output-protocol4.txt and its followers). Leaks become a search for leaks, all
 * else errors. Elements that are not known are passed over.
 */
#ifndef SOURCES_VALGRIND_XML_H
#define SOURCES_VALGRIND_XML_H

#include "base/error.h"
#include "model/model.h"
#include "sources/recording/input.h"
#include "sources/source.h"

/* Recognises the format by the beginning of the unpacked file. */
bool valgrind_xml_recognise(const uint8_t *head, size_t len);
struct error *valgrind_xml_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret);

#endif
