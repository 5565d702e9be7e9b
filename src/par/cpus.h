/* The number of CPUs that this process may use; on clusters and in containers the machine has more.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>

/* The smallest of the affinity mask's CPUs, the cgroups' quota rounded up, and this task's share
 * of a SLURM job; at least 1. */
size_t cpus_available(void);

/* The smallest CPU quota (in CPUs, such as 2.5) of the process's cgroups, version 1 or 2, and of
 * their ancestors; 0: none. `root` is prepended to every path that is read ("" for this
 * machine), so that a test can supply its own tree. */
double cpus_quota(const char *root);

/* Both return CPUs, 0 for no limit or for text that cannot be understood. */
/* the text of cpu.max: "max 100000", "150000 100000" */
double cpus_parse_v2(const char *cpu_max);
/* of cpu.cfs_quota_us ("-1": none), cpu.cfs_period_us */
double cpus_parse_v1(const char *quota_us, const char *period_us);

/* CPUs of this task in a SLURM job: SLURM_CPUS_PER_TASK; otherwise, in a step,
 * SLURM_CPUS_ON_NODE divided by the tasks on this node (SLURM_STEP_TASKS_PER_NODE or
 * SLURM_TASKS_PER_NODE, SLURM_NODEID); in a batch script, which is one process,
 * SLURM_CPUS_ON_NODE. 0: the variables are not set. */
size_t cpus_slurm(void);
/* The number for a node, counted from 0, in a list such as "2(x3),1"; 0: it is missing or cannot
 * be understood. */
unsigned long cpus_slurm_tasks(const char *per_node, unsigned long node);
