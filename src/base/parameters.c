/* The list of columns as a table, and loops over it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/parameters.h"

#include <stiffit/model.h>

#define KIND_TEXT COLUMN_TEXT
#define KIND_NUMBER COLUMN_DOUBLE
#define KIND_FLAG COLUMN_INT8
#define NONE_TEXT 0
#define NONE_NUMBER NAN
#define NONE_FLAG 0
#define COLUMN(name_, kind_, by_dataset_, width_, meaning_) \
    [PARAMETER_##name_] = {.name = #name_, .path = "/parameters/" #name_, .meaning = meaning_, \
                           .kind = KIND_##kind_, .presence = COLUMN_SOMETIMES, \
                           .by_dataset = by_dataset_, .width = width_, .none = NONE_##kind_, \
                           .size = sizeof *(parameter_##kind_)NULL, \
                           .offset = offsetof(struct parameters, name_)},
const struct column_info parameter_columns[N_PARAMETER_COLUMN] = {PARAMETER_LIST(COLUMN)};

/* Those that a model has, of the same names there. */
#define OF_MODEL(X) \
    X(name) X(start) X(lower) X(upper) X(scale) X(unit) X(prior) X(prior_on) X(prior_location) \
    X(prior_scale) X(prior_lower) X(prior_upper)

struct parameters parameters_of_model(const struct stiffit_model *abi, unsigned columns)
{
    struct parameters parameters = {.n = abi->n_parameter};
#define TAKE(field) \
    if (columns & PARAMETER_BIT(field)) \
        parameters.field = abi->parameter_##field;
    OF_MODEL(TAKE)
#undef TAKE
    return parameters;
}

void *parameters_cell(const struct parameters *parameters, enum parameter_column column, size_t i)
{
    const struct column_info *info = &parameter_columns[column];
    char *array;
    memcpy(&array, (const char *)parameters + info->offset, sizeof array);
    return array ? array + i * info->width * info->size : NULL;
}

void parameters_set(const struct parameters *parameters, enum parameter_column column, size_t i,
                    double number)
{
    void *cell = parameters_cell(parameters, column, i);
    if (parameter_columns[column].kind == COLUMN_DOUBLE)
        *(double *)cell = number;
    else
        *(uint8_t *)cell = (uint8_t)number;
}

void parameters_set_text(const struct parameters *parameters, enum parameter_column column,
                         size_t i, const char *text)
{
    *(const char **)parameters_cell(parameters, column, i) = text;
}

static size_t column_bytes(const struct column_info *info, size_t n)
{
    return (n * info->width * info->size + 7) / 8 * 8;
}

size_t parameters_bytes(size_t n)
{
    size_t bytes = 1;
    for (int c = 0; c < N_PARAMETER_COLUMN; c++)
        bytes += column_bytes(&parameter_columns[c], n);
    return bytes;
}

struct parameters parameters_place(size_t n, void *block)
{
    struct parameters parameters = {.n = n};
    char *place = block;
    for (int c = 0; c < N_PARAMETER_COLUMN; c++) {
        memcpy((char *)&parameters + parameter_columns[c].offset, &place, sizeof place);
        place += column_bytes(&parameter_columns[c], n);
    }
    return parameters;
}
