/* The version of the integrator library.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>

/* For example "SUNDIALS 6.4.1": that of the loaded library, not of the headers. */
void ode_library(char *text, size_t size);
