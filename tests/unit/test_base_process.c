/* What is known of processes: which are gone, and which compute, sleep or wait for their turn.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/process.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that computes, or sleeps, until it is killed. */
static pid_t start(bool computes)
{
    pid_t child = fork();
    assert_true(child >= 0);
    while (child == 0)
        if (!computes)
            pause();
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void names_come_back(void **state)
{
    (void)state;
    struct process_id self, again;
    char name[PROCESS_NAME];
    process_self(&self);
    process_print(&self, name);
    assert_true(process_scan(name, &again));
    assert_string_equal(again.host, self.host);
    assert_string_equal(again.space, self.space);
    assert_int_equal(again.number, getpid());
    assert_int_equal(again.start, self.start);
    assert_int_equal(process_place(&again), process_place(&self));
    assert_false(process_scan("host only", &again));
    assert_true(process_scan("host pid:[1] 17", &again));
    assert_int_equal(again.start, 0);
}

static void the_dead_are_known(void **state)
{
    (void)state;
    struct process_id id, other;
    process_self(&id);
    assert_false(process_is_gone(&id));
    if (id.start) { /* another process has the number now */
        other = id;
        other.start--;
        assert_true(process_is_gone(&other));
    }
    id.number = start(false);
    id.start = 0;
    assert_false(process_is_gone(&id));
    kill((pid_t)id.number, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)id.number, &info, WEXITED | WNOWAIT), 0);
    assert_true(process_is_gone(&id)); /* a zombie */
    other = id;
    strcpy(other.host, "another-host");
    assert_false(process_is_gone(&other)); /* nothing is known of it */
    waitpid((pid_t)id.number, NULL, 0);
    assert_true(process_is_gone(&id));
}

/* Waits until the child has used so much time. */
static void wait_for_cpu(pid_t child, int64_t ms)
{
    while (process_look(child, 0).cpu_ms < ms)
        usleep(1000);
}

static void time_is_that_on_the_processor(void **state)
{
    (void)state;
    if (!process_look(getpid(), 0).is_known)
        skip();
    pid_t busy = start(true), idle = start(false);
    wait_for_cpu(busy, 100);
    assert_int_equal(process_look(busy, 0).state, 'R');
    assert_int_equal(process_look(busy, busy).state, 'R'); /* its only thread has its number */
    struct process_look look = process_look(idle, 0);
    assert_int_equal(look.state, 'S');
    assert_true(look.cpu_ms < 100);
    kill(busy, SIGSTOP);
    waitpid(busy, NULL, WUNTRACED);
    int64_t before = process_look(busy, 0).cpu_ms;
    usleep(50000);
    assert_int_equal(process_look(busy, 0).cpu_ms, before);
    end(busy);
    end(idle);
    assert_false(process_look(busy, 0).is_known);
}

static void a_thread_knows_its_number(void **state)
{
    (void)state;
    assert_true(process_thread() == 0 || process_thread() == (long)getpid());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_come_back),
                                       cmocka_unit_test(the_dead_are_known),
                                       cmocka_unit_test(time_is_that_on_the_processor),
                                       cmocka_unit_test(a_thread_knows_its_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
