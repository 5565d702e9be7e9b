/* The YAML file of a PEtab problem: its version and the files that it names.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "petab/reader.h"

enum petab_kind {
    PETAB_PARAMETERS,
    PETAB_CONDITIONS,
    PETAB_EXPERIMENTS,
    PETAB_OBSERVABLES,
    PETAB_MEASUREMENTS,
    PETAB_MAPPING,
    PETAB_MODEL,
    N_PETAB_KIND
};

struct petab_files {
    const char *yaml;
    int version; /* 1 or 2 */
    const char *model_id; /* version 2; or NULL */
    struct petab_list {
        size_t n, room;
        const char **path; /* that can be opened */
    } list[N_PETAB_KIND];
};

/* Whether the build has libyaml. */
bool petab_is_built(void);
/* Reads the file at `yaml`. A path that leaves its folder is a fault unless `outside`. `model`
 * replaces the file of the model, if it is not NULL. */
void petab_files_read(struct petab_reader *reader, struct petab_files *files, const char *yaml,
                      const char *model, bool outside);
/* A fault if `output` is one of these files, by whatever name or link. */
void petab_files_spare(struct petab_reader *reader, const struct petab_files *files,
                       const char *output);
/* A hash of what is in the files that n problems name, in hexadecimal digits. */
const char *petab_hash(struct petab_reader *reader, const char *const *yaml, size_t n,
                       const char *model, bool outside);
