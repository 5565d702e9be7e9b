/* The datasets and experiments to which the rows of tables belong.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/id_table.h"
#include "base/error.h"

#include <stdbool.h>

/* Datasets and their experiments, in the order of their first rows; zero-initialise. Without
 * experiments each dataset is one, whose id is "". */
struct import_owners {
    struct id_table dataset, experiment; /* the second one's ids contain the dataset's */
    uint32_t *dataset_of;                /* of each experiment */
    size_t room;
    bool has_experiments;
};
/* The experiment's number, which is added if it is new; or ID_NO_MEMORY. */
uint32_t import_owner_add(struct import_owners *owners, const char *dataset,
                          const char *experiment);
/* The experiment's number, or ID_NONE. */
uint32_t import_owner_find(const struct import_owners *owners, const char *dataset,
                           const char *experiment);
const char *import_experiment_id(const struct import_owners *owners, uint32_t experiment);
/* The experiments of one dataset after another: those of dataset d are order[first[d]] to
 * order[first[d + 1] - 1]. free both. */
enum status import_owners_order(const struct import_owners *owners, uint32_t **order,
                                uint32_t **first, struct error *error);
void import_owners_fini(struct import_owners *owners);
