/* Where a file is written to: what may be replaced, what is written into, and what is refused.
 * Every file under a name that the user or the program can foresee is opened through this: nobody
 * who may write to the same folder can lead us elsewhere, no device or pipe is replaced by a file,
 * and what killed processes leave is removed.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

enum { DESTINATION_PATH = 4096 };

/* STREAM: a terminal, device or pipe, or an open descriptor such as /dev/stdout; it keeps its
 * place. */
enum destination_kind { DESTINATION_NEW, DESTINATION_FILE, DESTINATION_STREAM };

struct destination {
    enum destination_kind kind;
    int descriptor;              /* of a STREAM that names one: /dev/stdout, /dev/fd/3; else -1 */
    char path[DESTINATION_PATH]; /* links followed: they stay, and their target is replaced */
};

/* STATUS_SYSTEM: a directory, socket or disk; or another user made the link or pipe in a folder
 * that everybody may write to. */
enum status destination_find(struct destination *destination, const char *path,
                             struct error *error);
/* destination_find for a file that must be a regular one. */
enum status destination_find_file(struct destination *destination, const char *path,
                                  struct error *error);

/* The directory that `path` is in, "." for a bare name. STATUS_SYSTEM if it is too long. */
enum status destination_parent(const char *path, char parent[DESTINATION_PATH],
                               struct error *error);
/* STATUS_SYSTEM: it is there and no folder, or another user's, who could change what we do. `what`
 * it is for messages. */
enum status destination_check_folder(const char *path, const char *what, struct error *error);
/* destination_check_folder, which makes the folder if it is not there. */
enum status destination_folder(const char *path, const char *what, struct error *error);

/* An unused hidden name beside `path` (one of destination_find), which says which process it
 * belongs to; free(*temporary). Creates nothing. First it sweeps. STATUS_SYSTEM if the directory
 * does not exist or is not writable. */
enum status destination_temporary(const char *path, char **temporary, struct error *error);
/* Removes such files that processes have left that have died. */
void destination_sweep(const char *path);

/* Makes a folder in `parent` that only we may enter, for files that go when we have done with them.
 * Its name begins with `name`; those of that name are removed that processes which are gone have
 * left. *path is empty after a failure, of which errno tells. */
bool destination_scratch(const char *parent, const char *name, char path[DESTINATION_PATH]);
/* Removes a folder with all that is in it. */
void destination_scratch_remove(const char *path);
