/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/commands.h"

#include "cli/help.h"

/* A row each, in the order in which help shows them. */
#define COMMANDS(COMMAND) \
    COMMAND(run) COMMAND(show) COMMAND(import) COMMAND(export) COMMAND(simulate) COMMAND(plot) \
    COMMAND(report) COMMAND(compare) COMMAND(population) COMMAND(model) COMMAND(trust) \
    COMMAND(merge) COMMAND(submit) COMMAND(status) COMMAND(help)
#define MODEL_COMMANDS(COMMAND) \
    COMMAND(model_new) COMMAND(model_build) COMMAND(model_check) COMMAND(model_show)

#define DECLARATION(name) extern const struct command command_##name;
#define ROW(name) &command_##name,
COMMANDS(DECLARATION)
MODEL_COMMANDS(DECLARATION)
const struct command *const commands[] = {COMMANDS(ROW) NULL};
static const struct command *const model_commands[] = {MODEL_COMMANDS(ROW) NULL};

const struct command command_model = {
    .name = "model", .synopsis = "COMMAND [OPTIONS] ...",
    .summary = "write, build, check and show models",
    .example = "stiffit model new wells\nstiffit model show wells.ode",
    .description =
        "A model is text, equations as one writes them (stiffit-model(5)), or a plugin compiled "
        "from C (stiffit-model(3)). Every command takes either.",
    .child = model_commands, .run = command_run_child};

static int run_help(const struct command *self, int argc, char **argv)
{
    return help_run(commands, self, argc, argv);
}

const struct command command_help = {
    .name = "help", .synopsis = "[COMMAND [COMMAND]]",
    .summary = "show the commands and their options",
    .example = "stiffit help run\n"
               "stiffit help --completion bash >~/.local/share/bash-completion/completions/stiffit",
    .description = "Shows the commands, or one command's options.", .run_table = help_table,
    .run = run_help};
