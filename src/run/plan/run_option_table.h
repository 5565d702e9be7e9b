/* Options in a problem file. Separate from run_options.h because only opening a campaign needs them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_RUN_OPTION_TABLE_H
#define RUN_RUN_OPTION_TABLE_H

#include "run/run_options.h"

/* Applies one attribute of /options, unless the option is on the command line. The text must live as long as `options`.
 * STATUS_USAGE with the nearest match for an unknown name or a bad value. */
enum status run_options_apply(struct run_options *options, const char *name, const char *value, struct error *error);

#endif
