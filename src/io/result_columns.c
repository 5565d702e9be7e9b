/* Types and cells of the columns of /fits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/result_columns.h"

#include <string.h>

const struct result_column_info result_columns[N_RESULT_COLUMN] = {
#define X(name, path_, kind_, per_parameter_, field, unit_, description_) \
    [RESULT_##name] = {.path = path_, .unit = unit_, .description = description_, .kind = RESULT_##kind_, \
                       .per_parameter = per_parameter_, .offset = offsetof(struct fit_record, field)},
    RESULT_COLUMN_LIST(X)
#undef X
};

size_t result_kind_size(enum result_kind kind)
{
    switch (kind) {
    case RESULT_DOUBLE:
    case RESULT_INT64: return 8;
    case RESULT_UINT32: return 4;
    default: return 1;
    }
}

/* An enumeration over bytes, so that readers show names. */
static hid_t outcome_type(hid_t base)
{
    hid_t type = H5Tenum_create(base);
    for (int i = 0; type > 0 && i < N_OUTCOME; i++) {
        unsigned char value = (unsigned char)i;
        if (H5Tenum_insert(type, outcome_name((enum outcome)i), &value) < 0)
            hdf5_release(&type);
    }
    return type;
}

hid_t result_file_type(enum result_kind kind)
{
    switch (kind) {
    case RESULT_DOUBLE: return H5Tcopy(H5T_IEEE_F64LE);
    case RESULT_INT64: return H5Tcopy(H5T_STD_I64LE);
    case RESULT_UINT32: return H5Tcopy(H5T_STD_U32LE);
    case RESULT_INT8: return H5Tcopy(H5T_STD_I8LE);
    default: return outcome_type(H5T_STD_U8LE);
    }
}

hid_t result_memory_type(enum result_kind kind)
{
    switch (kind) {
    case RESULT_DOUBLE: return H5Tcopy(H5T_NATIVE_DOUBLE);
    case RESULT_INT64: return H5Tcopy(H5T_NATIVE_INT64);
    case RESULT_UINT32: return H5Tcopy(H5T_NATIVE_UINT32);
    case RESULT_INT8: return H5Tcopy(H5T_NATIVE_INT8);
    default: return outcome_type(H5T_NATIVE_UINT8);
    }
}

void result_cell_put(enum result_column column, const struct fit_record *record, size_t n_parameter, void *cell)
{
    const struct result_column_info *info = &result_columns[column];
    const char *field = (const char *)record + info->offset;
    size_t size = result_kind_size(info->kind);
    if (info->per_parameter) {
        const void *values;
        memcpy(&values, field, sizeof values);
        memcpy(cell, values, n_parameter * size);
    } else if (info->kind == RESULT_OUTCOME) {
        *(unsigned char *)cell = (unsigned char)record->outcome;
    } else {
        memcpy(cell, field, size);
    }
}
