/* The models of models/library, which the Makefile turns into strings.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Their names in alphabetical order, NULL-terminated, and the text of each. In a text the word
 * NAME stands for the model's name, and NAME.ode for its file. */
extern const char *const model_template_name[], *const model_template_text[];
