/* The engines of this program. They have a file of their own so that a program linked with
 * another definition has other engines, as the tests do (tests/engine).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#define ENGINE_ROW(id, word, table) [ENGINE_##id] = &(table),
const struct engine_table *const engine_in_use[N_ENGINE] = {ENGINE_LIST(ENGINE_ROW)};
