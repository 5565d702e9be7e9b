/* CPU counting against made-up trees of /proc and /sys, and against this process's own affinity.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/cpus.h"

#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void parses(void **state)
{
    (void)state;
    assert_true(cpus_parse_v2("max 100000\n") == 0);
    assert_true(cpus_parse_v2("150000 100000\n") == 1.5);
    assert_true(cpus_parse_v2("50000\n") == 0.5); /* the default period is 100 ms */
    assert_true(cpus_parse_v2("") == 0 && cpus_parse_v2("-5 10") == 0 && cpus_parse_v2("5 0") == 0);
    assert_true(cpus_parse_v2("5 x") == 0);
    assert_true(cpus_parse_v1("-1\n", "100000\n") == 0);
    assert_true(cpus_parse_v1("250000\n", "100000\n") == 2.5);
    assert_true(cpus_parse_v1("250000\n", "0\n") == 0 && cpus_parse_v1("x", "100000") == 0);
}

static char root[64];

static void write_file(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
    (void)state;
    strcpy(root, "/tmp/stiffit-cpus-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}
static int end(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static const char *const v2_mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

static void v2_walks_up(void **state)
{
    (void)state;
    assert_true(cpus_quota(root) == 0); /* nothing there at all */
    write_file("/proc/self/cgroup", "0::/slurm/job_7/step_0\n");
    write_file("/proc/self/mountinfo", v2_mount);
    assert_true(cpus_quota(root) == 0);
    write_file("/sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n");
    assert_true(cpus_quota(root) == 0);
    write_file("/sys/fs/cgroup/slurm/job_7/cpu.max", "350000 100000\n"); /* the job's, above the step's */
    assert_true(cpus_quota(root) == 3.5);
    write_file("/sys/fs/cgroup/slurm/cpu.max", "800000 100000\n");
    assert_true(cpus_quota(root) == 3.5);
    write_file("/sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "200000 100000\n");
    assert_true(cpus_quota(root) == 2);
    write_file("/sys/fs/cgroup/slurm/job_7/step_1/cpu.max", "1000 100000\n"); /* somebody else's */
    assert_true(cpus_quota(root) == 2);
    write_file("/sys/fs/cpu.max", "1000 100000\n"); /* above the mount point: not a cgroup */
    assert_true(cpus_quota(root) == 2);
}

/* In a container the process sees its own group as the root, or the path of the host, of which only a part is mounted. */
static void containers(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "0::/\n");
    write_file("/proc/self/mountinfo", v2_mount);
    write_file("/sys/fs/cgroup/cpu.max", "120000 100000\n");
    assert_true(cpus_quota(root) == 1.2);
    write_file("/proc/self/cgroup", "0::/../other\n");
    assert_true(cpus_quota(root) == 1.2);
    write_file("/proc/self/cgroup", "0::/docker/abc/inner\n");
    write_file("/proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    write_file("/sys/fs/cgroup/inner/cpu.max", "40000 100000\n");
    assert_true(cpus_quota(root) == 0.4);
    write_file("/proc/self/cgroup", "0::/docker/abcdef\n"); /* only looks as if it were below */
    assert_true(cpus_quota(root) == 1.2);
    write_file("/proc/self/mountinfo", "30 23 0:26 / /my\\040groups rw - cgroup2 cgroup rw\n");
    write_file("/my groups/docker/cpu.max", "70000 100000\n");
    assert_true(cpus_quota(root) == 0.7);
}

static void v1_and_hybrid(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "5:cpuset:/set\n4:cpuacct,cpu:/batch/me\n1:name=systemd:/batch\n0::/unified\n");
    write_file("/proc/self/mountinfo",
               "31 23 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
               "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
               "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
               "broken line\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/batch/me/cpu.cfs_quota_us", "-1\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/batch/me/cpu.cfs_period_us", "100000\n");
    assert_true(cpus_quota(root) == 0);
    write_file("/sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us", "600000\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_period_us", "200000\n");
    assert_true(cpus_quota(root) == 3);
    write_file("/sys/fs/cgroup/unified/unified/cpu.max", "100000 100000\n");
    assert_true(cpus_quota(root) == 1);
}

static void this_process(void **state)
{
    (void)state;
    cpu_set_t set;
    size_t count = cpus_available();
    assert_true(count >= 1);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        print_message("more CPUs than fit into a cpu_set_t: not checked\n");
        return;
    }
    assert_true(count <= (size_t)CPU_COUNT(&set));
    double quota = cpus_quota("");
    if (quota == 0)
        assert_int_equal(count, CPU_COUNT(&set));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) { /* bound to one CPU, whichever it may use */
        for (int i = 0, kept = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &set) && kept++)
                CPU_CLR(i, &set);
        sched_setaffinity(0, sizeof set, &set);
        _exit((int)cpus_available());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

static const char *const slurm_names[] = {"SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_STEP_ID", "SLURM_NODEID",
                                          "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"};

/* In their order, NULL: unset. */
static size_t slurm_share(const char *each, const char *on_node, const char *step, const char *node, const char *step_tasks,
                          const char *tasks)
{
    const char *const values[] = {each, on_node, step, node, step_tasks, tasks};
    for (size_t i = 0; i < 6; i++) {
        if (values[i])
            setenv(slurm_names[i], values[i], 1);
        else
            unsetenv(slurm_names[i]);
    }
    return cpus_slurm();
}

static void slurm(void **state)
{
    (void)state;
    assert_int_equal(cpus_slurm_tasks("2(x3),1", 0), 2);
    assert_int_equal(cpus_slurm_tasks("2(x3),1", 2), 2);
    assert_int_equal(cpus_slurm_tasks("2(x3),1", 3), 1);
    assert_int_equal(cpus_slurm_tasks("2(x3),1", 4), 0);
    assert_int_equal(cpus_slurm_tasks("4,3(x2)", 1), 3);
    assert_int_equal(cpus_slurm_tasks("x", 0), 0);
    assert_int_equal(cpus_slurm_tasks("2;3", 1), 0);
    assert_int_equal(slurm_share(NULL, NULL, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(slurm_share("4", "16", NULL, NULL, NULL, "4"), 4);
    assert_int_equal(slurm_share("4", NULL, NULL, NULL, NULL, NULL), 4);
    assert_int_equal(slurm_share(NULL, "16", "0", "1", NULL, "4,8"), 2);
    assert_int_equal(slurm_share(NULL, "16", "0", "0", "3", "4,8"), 5);
    assert_int_equal(slurm_share(NULL, "2", "0", "0", "3", NULL), 1);
    assert_int_equal(slurm_share(NULL, "16", NULL, "0", NULL, "4"), 16); /* a batch script: all of it */
    assert_int_equal(slurm_share("0", NULL, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(slurm_share("many", "-3", "0", "0", "1", NULL), 0);
    slurm_share("1", NULL, NULL, NULL, NULL, NULL);
    assert_int_equal(cpus_available(), 1);
    slurm_share(NULL, NULL, NULL, NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses), cmocka_unit_test_setup_teardown(v2_walks_up, begin, end),
        cmocka_unit_test_setup_teardown(containers, begin, end),
        cmocka_unit_test_setup_teardown(v1_and_hybrid, begin, end), cmocka_unit_test(this_process), cmocka_unit_test(slurm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
