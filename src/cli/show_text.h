/* The two ways to show a file.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_SHOW_TEXT_H
#define CLI_SHOW_TEXT_H

#include "cli/show.h"
#include "io/problem.h"

#include <stdio.h>

void show_problem_text(FILE *file, const struct problem_info *info);
void show_problem_json(FILE *file, const struct problem_info *info);
void show_result_text(FILE *file, const struct result_info *info, const struct show_summary *summary);
void show_result_json(FILE *file, const struct result_info *info, const struct show_summary *summary);

#endif
