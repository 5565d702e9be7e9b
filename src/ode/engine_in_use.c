/* Which engine carries out the evaluations of this program. It is alone in its file so that a program linked with another
 * definition has another engine: the tests have such ones (tests/engine).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

const struct engine_table *const engine_in_use = &engine_cvodes;
