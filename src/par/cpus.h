/* How many CPUs this process may use, which on clusters and in containers is fewer than the machine has.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAR_CPUS_H
#define PAR_CPUS_H

#include <stddef.h>

/* The CPUs of the affinity mask, or the cgroups' quota rounded up if that is less; at least 1. */
size_t cpus_available(void);

/* The tightest CPU quota (in CPUs, such as 2.5) of the process's cgroups, version 1 or 2, and all those above them; 0: none.
 * `root` goes in front of every path that is read ("" for this machine), so that a test can bring its own tree. */
double cpus_quota(const char *root);

/* Both return CPUs, 0 for no limit or for text that cannot be understood. */
double cpus_parse_v2(const char *cpu_max);                      /* the text of cpu.max: "max 100000", "150000 100000" */
double cpus_parse_v1(const char *quota_us, const char *period_us); /* of cpu.cfs_quota_us ("-1": none), cpu.cfs_period_us */

#endif
