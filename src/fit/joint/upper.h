/* What a fit over many datasets calls of a level above it, whose estimates say how parameters vary
 * between the datasets (fit/mixed/). Separate, because the fit knows no more of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/types.h"

struct cursor;
struct joint;
struct joint_work;

struct joint_upper_method {
    /* Before block's asker is made: changes the copies of its problem and of the fit's options as
     * joint->pass needs them. False: out of memory. */
    bool (*adapt)(const struct joint *joint, struct fit_problem *problem,
                  struct fit_options *options, struct arena *arena);
    /* Once it is made: may change its objective. False: the block has ended, with its reason. */
    bool (*accept)(struct joint_work *work);
    /* What a block does in JOINT_UPPER and JOINT_TELL. */
    void (*run_block)(struct joint_work *work, struct arena *arena);
    /* The fit, in place of the sum's own search and its check. is_under_way: another process has
     * begun it. */
    enum outcome (*search)(struct joint *joint, bool is_under_way, enum stop_test *stop);
    /* Of the state between two steps (joint/state.c): the search; and a block, which is made where
     * there is none. `kept` NULL: it is passed over. False: damaged, or out of memory. */
    void (*pass_search)(struct cursor *cursor, struct joint *joint);
    bool (*pass_block)(struct cursor *cursor, const struct joint *joint, void **kept);
    /* The columns that it adds to the record of block i, after the end. */
    void (*record)(const struct joint *joint, size_t i, struct fit_record *record);
};

struct joint_upper {
    const struct joint_upper_method *method; /* NULL: there is no such level */
    void *context;
    size_t saved;             /* place of its search in joint->saved.bytes */
};
