/* Loads the model of a problem. Text is always allowed, native code only if the user named or trusts it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_CAMPAIGN_MODEL_H
#define RUN_CAMPAIGN_MODEL_H

#include "io/problem.h"
#include "model/plugin.h"

struct model_choice {
    const char *given; /* a path from the command line, which overrides all others and is trusted; or NULL */
    bool trust;        /* native code that a data file names or embeds may run */
    struct build_options build; /* for model text */
};

/* Loads the given model, or the one that the problem names or embeds. Untrusted native code is STATUS_BAD_MODEL, with the
 * commands that would allow it. */
enum status campaign_load_model(struct model *model, const struct problem *problem, const struct model_choice *choice,
                                struct error *error);

/* Loads the file `path`, which a data file names; expected_sha256 may be NULL. `who`: the beginning of the message of a refusal
 * ("FILE: /model@plugin names native code (X.so)"); `trustee`: the argument of the `stiffit trust` that would allow it. */
enum status campaign_load_named(struct model *model, const char *path, const char *expected_sha256,
                                const struct model_choice *choice, const char *who, const char *trustee,
                                struct error *error);

#endif
