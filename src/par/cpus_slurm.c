/* A task's share of CPUs in a SLURM job, from its environment (srun(1), OUTPUT ENVIRONMENT VARIABLES). Separate from cpus.c,
 * which asks the kernel: on clusters without enforced limits the kernel does not know this share.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/cpus.h"

#include <stdint.h>
#include <stdlib.h>

/* 0: not set, or not a number. */
static unsigned long number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    unsigned long value = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    return value > 0 && !*end && value <= INT32_MAX ? value : 0;
}

unsigned long cpus_slurm_tasks(const char *per_node, unsigned long node)
{
    while (per_node && *per_node) {
        char *end;
        unsigned long tasks = strtoul(per_node, &end, 10), nodes = 1;
        if (end == per_node)
            return 0;
        if (end[0] == '(' && end[1] == 'x') {
            nodes = strtoul(end + 2, &end, 10);
            end += *end == ')';
        }
        if (node < nodes)
            return tasks;
        node -= nodes;
        per_node = end + (*end == ',');
        if (*end && *end != ',')
            return 0;
    }
    return 0;
}

size_t cpus_slurm(void)
{
    unsigned long each = number("SLURM_CPUS_PER_TASK"), all = number("SLURM_CPUS_ON_NODE");
    if (each)
        return each;
    if (!getenv("SLURM_STEP_ID") || !all) /* a batch script, or no job */
        return all;
    const char *per_node = getenv("SLURM_STEP_TASKS_PER_NODE");
    unsigned long tasks = cpus_slurm_tasks(per_node ? per_node : getenv("SLURM_TASKS_PER_NODE"), number("SLURM_NODEID"));
    return tasks == 0 ? 0 : tasks < all ? all / tasks : 1;
}
