/* CPUs that this process may use, from the affinity mask and the quotas of its cgroups. As
 * cgroups(7) and proc(5) describe, a quota is found from the process's path in each hierarchy
 * and the place where that hierarchy is mounted. And the share of a task in a SLURM job, from
 * its environment (srun(1), OUTPUT ENVIRONMENT VARIABLES): on clusters without enforced limits
 * the kernel does not know it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/cpus.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = PATH_MAX + 256, LINE_BYTES = 3 * PATH_MAX, DEEPEST = 256 };

static bool parse_number(const char *text, long long *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return end != text && errno == 0;
}

double cpus_parse_v2(const char *cpu_max)
{
    long long quota, period = 100000; /* the kernel's default */
    if (!parse_number(cpu_max, &quota))
        return 0;
    const char *space = strchr(cpu_max, ' ');
    if (space && !parse_number(space, &period))
        return 0;
    return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

double cpus_parse_v1(const char *quota_us, const char *period_us)
{
    long long quota, period;
    if (!parse_number(quota_us, &quota) || !parse_number(period_us, &period))
        return 0;
    return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

/* Reads the beginning of the file root + folder + "/" + name. */
static bool read_text(const char *root, const char *folder, const char *name, char *text,
                      size_t bytes)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(text, 1, bytes - 1, file);
    text[n] = 0;
    fclose(file);
    return n > 0;
}

static double tighter(double a, double b) { return a > 0 && (b <= 0 || a < b) ? a : b; }

static double folder_quota(const char *root, const char *folder, bool v2)
{
    char quota[128], period[128];
    if (v2)
        return read_text(root, folder, "cpu.max", quota, sizeof quota) ? cpus_parse_v2(quota) : 0;
    if (!read_text(root, folder, "cpu.cfs_quota_us", quota, sizeof quota) ||
        !read_text(root, folder, "cpu.cfs_period_us", period, sizeof period))
        return 0;
    return cpus_parse_v1(quota, period);
}

/* The smallest quota from mount + path up to the mount point. */
static double hierarchy_quota(const char *root, const char *mount, const char *path, bool v2)
{
    char folder[PATH_BYTES];
    int length = snprintf(folder, sizeof folder, "%s%s", mount, path);
    if (length < 0 || (size_t)length >= sizeof folder)
        return 0;
    double quota = 0;
    for (int depth = 0; depth < DEEPEST; depth++) {
        quota = tighter(folder_quota(root, folder, v2), quota);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < strlen(mount))
            break;
        *slash = 0;
    }
    return quota;
}

/* Whether a comma-separated list holds the word "cpu". */
static bool names_cpu(const char *list)
{
    for (const char *word = list; word; word = strchr(word, ',')) {
        word += *word == ',';
        size_t length = strcspn(word, ",\n");
        if (length == 3 && !strncmp(word, "cpu", 3))
            return true;
    }
    return false;
}

/* Decodes spaces and other characters written as a backslash and three octal digits. */
static void decode_octal(char *text)
{
    char *out = text;
    for (const char *in = text; *in; in++)
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' &&
            in[3] >= '0' && in[3] <= '7') {
            *out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + in[3] - '0');
            in += 3;
        } else {
            *out++ = *in;
        }
    *out = 0;
}

/* A line of mountinfo: "36 35 98:0 /root /mount options ... - type source options". False: not
 * the cgroup wanted. */
static bool parse_mount(char *line, bool v2, char **mount_root, char **mount)
{
    char *tail = strstr(line, " - ");
    if (!tail)
        return false;
    *tail = 0;
    char *save, *type = strtok_r(tail + 3, " \n", &save);
    strtok_r(NULL, " \n", &save);
    const char *options = strtok_r(NULL, " \n", &save);
    if (!type || strcmp(type, v2 ? "cgroup2" : "cgroup") ||
        (!v2 && (!options || !names_cpu(options))))
        return false;
    char *field = strtok_r(line, " ", &save);
    for (int i = 0; field && i < 3; i++)
        field = strtok_r(NULL, " ", &save);
    *mount_root = field;
    *mount = field ? strtok_r(NULL, " ", &save) : NULL;
    if (!*mount)
        return false;
    decode_octal(*mount_root);
    decode_octal(*mount);
    return true;
}

/* The quota of the group `path` of one hierarchy, wherever it is mounted. */
static double group_quota(const char *root, const char *path, bool v2)
{
    char name[PATH_BYTES], line[LINE_BYTES];
    snprintf(name, sizeof name, "%s/proc/self/mountinfo", root);
    FILE *file = fopen(name, "re");
    if (!file)
        return 0;
    double quota = 0;
    while (fgets(line, sizeof line, file)) {
        char *mount_root, *mount;
        if (!parse_mount(line, v2, &mount_root, &mount))
            continue;
        if (!strcmp(mount, "/"))
            mount++;
        /* Only groups below the mount are visible. In a cgroup namespace a path may begin with
         * "/..": then only the mount point itself is visible. */
        size_t length = strcmp(mount_root, "/") ? strlen(mount_root) : 0;
        const char *below = "";
        if (!strncmp(path, mount_root, length) && (path[length] == '/' || !path[length]) &&
            strncmp(path, "/..", 3))
            below = path + length;
        if (!strcmp(below, "/"))
            below = "";
        quota = tighter(hierarchy_quota(root, mount, below, v2), quota);
    }
    fclose(file);
    return quota;
}

double cpus_quota(const char *root)
{
    char name[PATH_BYTES], line[LINE_BYTES];
    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    FILE *file = fopen(name, "re");
    if (!file)
        return 0;
    double quota = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        bool v2 = controllers[1] == 0;
        if (v2 || names_cpu(controllers + 1))
            quota = tighter(group_quota(root, path, v2), quota);
    }
    fclose(file);
    return quota;
}

/* CPUs in the affinity mask, for any number of CPUs that the kernel supports. */
static size_t affinity_count(void)
{
#ifdef __linux__
    for (int n = 1024; n <= 1 << 20; n *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        if (!set)
            break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)n);
        int failed = sched_getaffinity(0, bytes, set) ? errno : 0;
        int count = failed ? 0 : CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (count > 0)
            return (size_t)count;
        if (failed != EINVAL)
            break;
    }
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

size_t cpus_available(void)
{
    size_t count = affinity_count();
    double quota = ceil(cpus_quota(""));
    if (quota > 0 && quota < (double)count)
        count = (size_t)quota;
    size_t share = cpus_slurm();
    if (share > 0 && share < count)
        count = share;
    return count > 0 ? count : 1;
}

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
    unsigned long tasks =
        cpus_slurm_tasks(per_node ? per_node : getenv("SLURM_TASKS_PER_NODE"), number("SLURM_"
                                                                                      "NODEID"));
    return tasks == 0 ? 0 : tasks < all ? all / tasks : 1;
}
