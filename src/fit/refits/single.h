/* The subject that is a fit of one dataset.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/refits/bootstrap.h"
#include "fit/refits/subject.h"

struct fit_single {
    struct fit_problem problem;           /* its start is the best fit */
    const struct fit_host *host;
    struct arena *arena, *scratch;        /* scratch is reset repeatedly */
    enum bootstrap_kind kind;
};

/* The subject of `single`, which must outlive it; `options` are those of its fits. */
struct fit_subject fit_subject_single(struct fit_single *single, const struct fit_options *options);
