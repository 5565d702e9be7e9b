/* SPDX-License-Identifier: BSD-3-Clause */
#include "import/format.h"

#define DECLARATION(word, help) extern const struct import_format import_format_##word;
#define ROW(word, help) &import_format_##word,
IMPORT_FORMATS(DECLARATION)
const struct import_format *const import_formats[] = {IMPORT_FORMATS(ROW)};

const struct import_format *import_format_of(const struct import_options *options)
{
    for (size_t i = 0; i < N_IMPORT_FORMAT; i++)
        if (options->is_format[i])
            return import_formats[i];
    return NULL;
}
