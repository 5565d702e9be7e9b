/* A program as one C function of the plugin interface, or as several where it is long.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GENERATE_C_FUNCTION_H
#define MODEL_GENERATE_C_FUNCTION_H

#include "model/generate/c_expression.h"

/* What rows and columns of a result are, for the comments. */
enum c_axis { C_NOTHING, C_RATE, C_INITIAL, C_OBSERVABLE, C_NOISE, C_STATE, C_PARAMETER };

struct c_function {
    const char *name;
    size_t n_out;             /* numbers that it writes */
    enum c_axis row, column;
    bool quotes;              /* the model's lines in comments */
};

enum status c_function(const struct c_printer *printer, const struct c_function *function, struct error *error);

#endif
