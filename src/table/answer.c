/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table/answer.h"

void answer_begin(struct answer *answer, const struct answer_type *type)
{
	answer->type = type;
	answer->form->begin(answer, type);
}

void answer_table_begin(struct answer *answer, const struct table *table)
{
	answer->form->table_begin(answer, table);
}

void answer_row(struct answer *answer, const struct table *table, size_t row)
{
	if (!answer->stopped)
		answer->form->row(answer, table, row);
}

void answer_table_end(struct answer *answer, const struct table *table)
{
	answer->form->table_end(answer, table);
}

void answer_table(struct answer *answer, const struct table *table)
{
	answer_table_begin(answer, table);
	for (size_t i = 0; i < table_shown(table) && !answer->stopped; i++)
		answer_row(answer, table, table_row(table, i));
	if (answer->asked_limit && table->limit == answer->asked_limit)
		answer->left_out += table->count - table_shown(table);
	answer_table_end(answer, table);
}

void answer_record(struct answer *answer, const struct table *record)
{
	answer->form->record(answer, record);
}

void answer_group_begin(struct answer *answer, const struct table_type *group)
{
	if (answer->form->group)
		answer->form->group(answer, group);
}

void answer_group_end(struct answer *answer)
{
	if (answer->form->group)
		answer->form->group(answer, NULL);
}

struct text *answer_prose(struct answer *answer)
{
	return answer->form->prose ? answer->form->prose(answer) : NULL;
}

struct error *answer_end(struct answer *answer)
{
	return answer->form->end(answer);
}

size_t answer_limit(const struct answer *answer, size_t limit, size_t brief)
{
	if (limit)
		return limit;
	return answer->form->is_brief ? brief : TABLE_NO_LIMIT;
}

void answer_destroy(struct answer *answer)
{
	if (answer)
		answer->form->destroy(answer);
}
