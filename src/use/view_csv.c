/* Rows of facts as rows of a CSV table.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/view_csv.h"

static bool is_column(const struct view_item *item)
{
    return item->kind == VIEW_FACT && item->fact.text;
}

static enum csv_type type_of(const struct fact *fact)
{
    static const enum csv_type type[] = {[FACT_NUMBER] = CSV_NUMBER, [FACT_COUNT] = CSV_INTEGER};
    return fact->kind <= FACT_COUNT ? type[fact->kind] : CSV_TEXT;
}

void view_csv_head(const struct view *view, struct csv_writer *writer)
{
    while (csv_head(writer))
        for (size_t i = 0; i < view->n; i++)
            if (is_column(&view->item[i]))
                csv_put_column(writer, view->item[i].fact.text, type_of(&view->item[i].fact));
}

void view_csv_row(const struct view *view, struct csv_writer *writer)
{
    for (size_t i = 0; i < view->n; i++) {
        const struct fact *fact = &view->item[i].fact;
        if (!is_column(&view->item[i]))
            continue;
        if (fact->kind == FACT_NUMBER)
            csv_put_number(writer, fact->value);
        else if (fact->kind == FACT_COUNT)
            csv_put_integer(writer, (int64_t)fact->value);
        else
            csv_put_text(writer, fact->word ? fact->word : "");
    }
    csv_end_row(writer);
}
