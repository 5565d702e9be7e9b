/* The program's version.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#define STIFFIT_VERSION "0.2.0"
