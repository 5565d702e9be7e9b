/* The program's version.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define STIFFIT_VERSION "0.1.0"

#endif
