/* How many CPUs this process may use, which on clusters and in containers is fewer than the machine has.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAR_CPUS_H
#define PAR_CPUS_H

#include <stddef.h>

/* The CPUs of the affinity mask, the cgroups' quota rounded up, or this task's share in a job of SLURM, whichever is least; at
 * least 1. */
size_t cpus_available(void);

/* The tightest CPU quota (in CPUs, such as 2.5) of the process's cgroups, version 1 or 2, and all those above them; 0: none.
 * `root` goes in front of every path that is read ("" for this machine), so that a test can bring its own tree. */
double cpus_quota(const char *root);

/* Both return CPUs, 0 for no limit or for text that cannot be understood. */
double cpus_parse_v2(const char *cpu_max);                      /* the text of cpu.max: "max 100000", "150000 100000" */
double cpus_parse_v1(const char *quota_us, const char *period_us); /* of cpu.cfs_quota_us ("-1": none), cpu.cfs_period_us */

/* CPUs of this task in a job of SLURM: SLURM_CPUS_PER_TASK; or, in a step, SLURM_CPUS_ON_NODE over the tasks on this node
 * (SLURM_STEP_TASKS_PER_NODE or SLURM_TASKS_PER_NODE, SLURM_NODEID); or, as a batch script is one process, SLURM_CPUS_ON_NODE.
 * 0: SLURM says nothing. */
size_t cpus_slurm(void);
/* Of a list such as "2(x3),1" the number for a node, from 0; 0: it is not there or cannot be understood. */
unsigned long cpus_slurm_tasks(const char *per_node, unsigned long node);

#endif
