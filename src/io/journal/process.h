/* The names of a journal's files say which process writes each of them, and with the times of
 * the files whether it still does.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    JOURNAL_NAME = 128,
    JOURNAL_TOUCH_S = 30,  /* a process that lives sets the time of its file at least this often */
    /* none for so long is taken for dead; file servers show times up to a minute late */
    JOURNAL_SILENT_S = 180
};

/* HOST-PID-STARTTIME-RANDOM.log of this process, with a random part of 16 hexadecimal digits. */
void journal_name(char name[JOURNAL_NAME], uint64_t random);
/* Whether a file's name is of this form. */
bool journal_is_name(const char *name);

enum journal_writer {
    JOURNAL_NO_FILE,    /* no file of a process is there */
    /* a process appends: one of this machine lives, or one of another has touched its file
     * lately */
    JOURNAL_IS_WRITTEN,
    JOURNAL_IS_LEFT     /* none does */
};
enum journal_writer journal_find_writer(const char *directory);
