/* What the kernel says of processes: how much this one has, what another one does, and whether it
 * still lives; and how long one may compute without a sign of life.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Fields of /proc/self/stat (proc(5)). */
enum process_field {
    PROCESS_STATE = 3,
    PROCESS_USER_TIME = 14,
    PROCESS_SYSTEM_TIME = 15,
    PROCESS_N_THREAD = 20,
    PROCESS_START_TIME = 22
};

/* 0 where there is no such file. */
uint64_t process_number(enum process_field field);

/* Identifies a process for good: host and PID namespace (a container has its own), number, and
 * start, as numbers are used again. */
enum { PROCESS_NAME = 300 };
struct process_id {
    char host[200], space[64];
    long number;
    uint64_t start; /* 0: unknown */
};
void process_self(struct process_id *self);
/* "HOST SPACE NUMBER START", and back; false: `text` does not begin so. */
void process_print(const struct process_id *id, char text[PROCESS_NAME]);
bool process_scan(const char *text, struct process_id *id);
/* Host and namespace as one number, for names of files. */
uint32_t process_place(const struct process_id *id);
/* Whether it is known to be dead: one of this host and namespace that is not there, is a zombie
 * (which it may stay for ever if process 1 of a container is not a real init), or whose number
 * another one has now. */
bool process_is_gone(const struct process_id *id);

/* What a process, or one of its threads, is doing. */
struct process_look {
    bool is_known;  /* false: this system does not say */
    /* R runs or waits for its turn; S sleeps; D waits for a disk or file server; T stopped; Z
     * dead */
    char state;
    int64_t cpu_ms; /* on the processor so far */
};
/* thread: 0 for the whole process. */
struct process_look process_look(long process, long thread);
long process_thread(void); /* this thread's number; 0: unknown */

/* Ends this process by SIGVTALRM when it has computed, outside the kernel, for so many seconds from
 * now on, in all threads together; 0: not any more. */
void process_alarm(int seconds);
/* How long a process may compute without a sign of life before it counts as hung, in seconds: 60,
 * or what the environment says, for tests. */
int process_hang_seconds(void);
