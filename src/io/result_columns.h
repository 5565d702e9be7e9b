/* HDF5 types of the columns of /fits.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_RESULT_COLUMNS_H
#define IO_RESULT_COLUMNS_H

#include "io/fit_record.h"
#include "io/hdf5_file.h"

enum { RESULT_MAX_ID = 1 << 16, RESULT_FORMAT = 1 };

/* The type in the file and in memory; release both. 0: HDF5 failed. */
hid_t result_file_type(enum fit_kind kind);
hid_t result_memory_type(enum fit_kind kind);

#endif
