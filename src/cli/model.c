/* `stiffit model`: the group of commands that work on models themselves.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

static const struct command *const children[] = {&command_model_new, &command_model_build, &command_model_check,
                                                &command_model_show, NULL};

static int run(int argc, char **argv) { return command_run_child(&command_model, argc, argv); }

const struct command command_model = {
    .name = "model", .synopsis = "COMMAND [OPTIONS] ...", .summary = "write, build, check and show models",
    .example = "stiffit model new wells\nstiffit model show wells.ode",
    .description =
        "A model is text, equations as one writes them (stiffit-model(5)), or a plugin compiled from C (stiffit-model(3)). "
        "Every command takes either.",
    .child = children, .run = run};
