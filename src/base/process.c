/* Reads /proc, the only source of these facts; where it is missing, callers learn that nothing is
 * known.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

enum { STAT_SIZE = 2048, HUNG_AFTER_S = 60 }; /* the kernel's line has some 300 bytes */

/* The text of a file "stat" (proc(5)) from field 3 on. Field 2 is the program's name, which may
 * contain blanks and brackets. NULL: it cannot be read. */
static const char *read_stat(const char *path, char text[STAT_SIZE])
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, text, STAT_SIZE - 1);
    if (file >= 0)
        close(file);
    if (n <= 0)
        return NULL;
    text[n] = '\0';
    const char *end_of_name = strrchr(text, ')');
    return end_of_name && end_of_name[1] == ' ' ? end_of_name + 2 : NULL;
}

static uint64_t number_of(const char *stat, enum process_field field)
{
    for (int i = PROCESS_STATE; stat && i < (int)field; i++) {
        stat = strchr(stat, ' ');
        stat = stat ? stat + 1 : NULL;
    }
    return stat ? strtoull(stat, NULL, 10) : 0;
}

uint64_t process_number(enum process_field field)
{
    char text[STAT_SIZE];
    return number_of(read_stat("/proc/self/stat", text), field);
}

void process_self(struct process_id *self)
{
    *self = (struct process_id){.number = (long)getpid(),
                                .start = process_number(PROCESS_START_TIME),
                                .space = "-"};
    gethostname(self->host, sizeof self->host - 1);
    self->host[strcspn(self->host, " \n")] = '\0';
    if (!self->host[0])
        strcpy(self->host, "-");
    ssize_t n = readlink("/proc/self/ns/pid", self->space, sizeof self->space - 1);
    if (n > 0)
        self->space[n] = '\0';
}

void process_print(const struct process_id *id, char text[PROCESS_NAME])
{
    snprintf(text, PROCESS_NAME, "%s %s %ld %llu", id->host, id->space, id->number,
             (unsigned long long)id->start);
}

bool process_scan(const char *text, struct process_id *id)
{
    unsigned long long start = 0;
    *id = (struct process_id){.number = 0};
    int n = sscanf(text, "%199s %63s %ld %llu", id->host, id->space, &id->number, &start);
    id->start = n == 4 ? start : 0;
    return n >= 3;
}

/* The FNV-1a hash (Fowler, Noll, Vo) of both texts with their NULs. */
uint32_t process_place(const struct process_id *id)
{
    uint32_t hash = 2166136261u;
    for (const char *const *part = (const char *const[]){id->host, id->space, NULL}; *part; part++)
        for (const char *c = *part;; c++) {
            hash = (hash ^ (unsigned char)*c) * 16777619u;
            if (!*c)
                break;
        }
    return hash;
}

bool process_is_gone(const struct process_id *id)
{
    struct process_id self;
    char path[40], text[STAT_SIZE];
    process_self(&self);
    if (strcmp(id->host, self.host) || strcmp(id->space, self.space) || id->number <= 0)
        return false;
    if (kill((pid_t)id->number, 0) != 0 && errno == ESRCH)
        return true;
    snprintf(path, sizeof path, "/proc/%ld/stat", id->number);
    const char *stat = read_stat(path, text);
    if (!stat)
        return false;
    bool is_dead = *stat == 'Z' || *stat == 'X'; /* a zombie, or dead */
    return is_dead || (id->start && number_of(stat, PROCESS_START_TIME) != id->start);
}

struct process_look process_look(long process, long thread)
{
    char path[80], text[STAT_SIZE];
    if (thread)
        snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", process, thread);
    else
        snprintf(path, sizeof path, "/proc/%ld/stat", process);
    const char *stat = read_stat(path, text);
    long per_second = sysconf(_SC_CLK_TCK);
    if (!stat || per_second <= 0)
        return (struct process_look){.is_known = false};
    uint64_t ticks = number_of(stat, PROCESS_USER_TIME) + number_of(stat, PROCESS_SYSTEM_TIME);
    return (struct process_look){.is_known = true, .state = *stat,
                                 .cpu_ms = (int64_t)(ticks * 1000 / (uint64_t)per_second)};
}

long process_thread(void)
{
#ifdef SYS_gettid
    return (long)syscall(SYS_gettid);
#else
    return 0;
#endif
}

void process_alarm(int seconds)
{
    (void)setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
}

int process_hang_seconds(void)
{
    const char *seconds = getenv("STIFFIT_HANG_SECONDS");
    int limit = seconds ? atoi(seconds) : 0;
    return limit > 0 ? limit : HUNG_AFTER_S;
}
