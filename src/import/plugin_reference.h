/* How a problem file that we write refers to its model: the text, a plugin's absolute path, or
 * the plugin itself.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/sha256.h"
#include "io/problem/model.h"
#include "model/plugin.h"

struct plugin_reference {
    char *path;
    char *source;        /* model text, always in full */
    char *name;          /* of the model, if its text has none */
    unsigned char *bytes;
    size_t n_byte;
    /* of bytes or text; "" if only the path is written, because a plugin may be recompiled */
    char sha256[SHA256_HEX];
};

/* `model` was loaded from `path`. plugin_reference_fini is legal after a failure and on a zeroed
 * struct. */
enum status plugin_reference_init(struct plugin_reference *reference, const struct model *model,
                                  const char *path, bool embed, struct error *error);
/* Copies the plugin that another problem embeds. */
enum status plugin_reference_embed(struct plugin_reference *reference, const unsigned char *bytes,
                                   size_t n_byte, struct error *error);
/* What the file's header says of the model; points into the reference. */
struct problem_model plugin_reference_model(const struct plugin_reference *reference);
void plugin_reference_fini(struct plugin_reference *reference);
