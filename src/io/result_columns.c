/* Types of the columns of /fits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/result_columns.h"

/* An enumeration over bytes, so that readers show names. */
static hid_t enumeration(hid_t base, enum fit_kind kind)
{
    const char *(*name)(int number) = fit_kind_names(kind);
    hid_t type = H5Tenum_create(base);
    for (int i = 0; type > 0 && name(i); i++) {
        unsigned char value = (unsigned char)i;
        if (H5Tenum_insert(type, name(i), &value) < 0)
            hdf5_release(&type);
    }
    return type;
}

hid_t result_file_type(enum fit_kind kind)
{
    switch (kind) {
    case FIT_DOUBLE: return H5Tcopy(H5T_IEEE_F64LE);
    case FIT_INT64: return H5Tcopy(H5T_STD_I64LE);
    case FIT_UINT32: return H5Tcopy(H5T_STD_U32LE);
    case FIT_INT8: return H5Tcopy(H5T_STD_I8LE);
    default: return enumeration(H5T_STD_U8LE, kind);
    }
}

hid_t result_memory_type(enum fit_kind kind)
{
    switch (kind) {
    case FIT_DOUBLE: return H5Tcopy(H5T_NATIVE_DOUBLE);
    case FIT_INT64: return H5Tcopy(H5T_NATIVE_INT64);
    case FIT_UINT32: return H5Tcopy(H5T_NATIVE_UINT32);
    case FIT_INT8: return H5Tcopy(H5T_NATIVE_INT8);
    default: return enumeration(H5T_NATIVE_UINT8, kind);
    }
}
