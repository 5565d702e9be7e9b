/* The engine of this program. It has a file of its own so that a program linked with another definition has another engine, as
 * the tests do (tests/engine).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

const struct engine_table *const engine_in_use = &engine_cvodes;
