/* By the text that generated code has, so that its values are the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/intern.h"

#include <math.h>
#include <stdint.h>

#include "model/generate/mathematics.cl"

double gamma_log(double x) { return number_log_gamma_of(x); }

double gamma_polygamma(double n, double x) { return number_polygamma_of((int)n, x); }
