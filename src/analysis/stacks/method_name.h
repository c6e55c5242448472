/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What methods of virtual machines are called. */
#ifndef ANALYSIS_METHOD_NAME_H
#define ANALYSIS_METHOD_NAME_H

#include "base/text.h"
#include "model/code.h"

/* Adds "com.example.Parser.read" of a method that has a name. */
void method_name_add(struct text *text, const struct code *code);
/* Adds "(java.lang.String, int)" of "(Ljava/lang/String;I)V"; what is no such descriptor as it is.
 */
void method_name_add_parameters(struct text *text, const char *signature);
/* Adds the name as the virtual machine has it: "com/example/Parser.read(Ljava/lang/String;I)V". */
void method_name_add_raw(struct text *text, const struct code *code);

#endif
