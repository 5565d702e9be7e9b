/* The user's list of native code that may run although only a data file names it. It has the
 * SHA-256 of the code, so that it applies to exactly these bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/sha256.h"

#include <limits.h>

struct trust_entry {
    char sha256[SHA256_HEX];
    const char *date, *origin; /* when it was added, and its name then; for display */
};

/* $XDG_CONFIG_HOME/stiffit/trusted or ~/.config/stiffit/trusted: lines "SHA256 DATE ORIGIN";
 * empty lines and lines that begin with # are ignored. */
struct trust_list {
    char path[PATH_MAX]; /* "": there is no folder for it */
    struct trust_entry *entry;
    size_t n;
    char *text; /* the entries point into it */
};

/* A missing file is an empty list. STATUS_SYSTEM: it cannot be read or understood, or another
 * user could have written it. trust_fini is legal after a failure and on a zeroed struct. */
enum status trust_read(struct trust_list *list, struct error *error);
void trust_fini(struct trust_list *list);
bool trust_has(const struct trust_list *list, const char *sha256);

/* STATUS_BAD_MODEL if these bytes make the loader load a library by a relative path: what runs
 * would depend on the folder. */
enum status trust_check_links(const void *bytes, size_t n_byte, const char *origin,
                              struct error *error);

/* Each replaces the file in one step. `list` is the list as read; it does not change. */
enum status trust_add(const struct trust_list *list, const char *sha256, const char *origin,
                      struct error *error);
enum status trust_remove(const struct trust_list *list, const char *sha256, struct error *error);
