/* Prints a view that is one row, facts and groups of facts, as a row of a CSV table. A fact's text
 * is the head of its column; facts without a text are not in the table. Separate from base/view.h
 * because CSV is above base.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/view.h"
#include "io/table/csv.h"

/* Of a row whose values do not matter. */
void view_csv_head(const struct view *view, struct csv_writer *writer);
void view_csv_row(const struct view *view, struct csv_writer *writer);
