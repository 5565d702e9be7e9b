/* Which integrator library runs.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LIBRARY_H
#define ODE_LIBRARY_H

#include <stddef.h>

/* For example "SUNDIALS 6.4.1": the library that is loaded, not the headers. */
void ode_library(char *text, size_t size);

#endif
