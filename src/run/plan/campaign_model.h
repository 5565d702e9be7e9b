/* Which model is to be loaded, and whether it may: text always, native code if the user gave or trusts it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_CAMPAIGN_MODEL_H
#define RUN_CAMPAIGN_MODEL_H

#include "io/problem.h"
#include "model/plugin.h"

struct model_choice {
    const char *given; /* a path from the command line, which overrides everything else and is trusted; or NULL */
    bool trust;        /* native code that a data file names or embeds may run */
    struct build_options build; /* how text is compiled */
};

/* Loads the model that the problem names or embeds, or the one that was given. Native code that nobody trusts is
 * STATUS_BAD_MODEL with the commands that would allow it. */
enum status campaign_load_model(struct model *model, const struct problem *problem, const struct model_choice *choice,
                                struct error *error);

/* Loads the file `path`, which some data file names; expected_sha256 may be NULL. `who`: the beginning of the refusal
 * ("FILE: /model@plugin names native code (X.so)"); `trustee`: what `stiffit trust` would be called with. */
enum status campaign_load_named(struct model *model, const char *path, const char *expected_sha256,
                                const struct model_choice *choice, const char *who, const char *trustee,
                                struct error *error);

#endif
