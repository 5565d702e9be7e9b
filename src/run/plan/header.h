/* The header of a run's result, as far as it is known before the fits: names, units, and the
 * provenance. Gathered where the model is loaded.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/result/result.h"
#include "run/plan/campaign.h"

/* The texts are the campaign's, or in `arena`. */
enum status header_make(struct result_header *header, const struct campaign *campaign,
                        const struct run_options *options, struct arena *arena,
                        struct error *error);
