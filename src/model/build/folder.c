/* Files of one compilation: private while they are there, and gone afterwards.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/build/folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum status folder_make(char folder[FOLDER_SIZE], struct error *error)
{
    char parent[PATH_MAX];
    folder[0] = '\0';
    const char *wanted = getenv("TMPDIR");
    if (!wanted || !*wanted)
        wanted = "/tmp";
    if (!realpath(wanted, parent))
        return error_system(error, errno, "cannot use the directory for temporary files %s (TMPDIR names another)", wanted);
    if (snprintf(folder, FOLDER_SIZE, "%s/stiffit-build-XXXXXX", parent) >= (int)FOLDER_SIZE) {
        folder[0] = '\0';
        return error_set(error, STATUS_SYSTEM, "the path in TMPDIR is too long");
    }
    if (mkdtemp(folder))
        return STATUS_OK;
    int number = errno;
    folder[0] = '\0';
    return error_system(error, number, "cannot make a directory in %s for compiling a model (TMPDIR names another place)",
                        parent);
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

/* What we know of is removed without needing memory; only a compiler that was ended leaves anything else. */
void folder_remove(const char *folder)
{
    static const char *const known[] = {"model.c", "model.so", "words.txt", "version.txt", "stiffit/model.h", "stiffit", ""};
    char path[FOLDER_FILE_SIZE];
    if (!folder[0])
        return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, known[i]);
        remove(path);
    }
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

enum status folder_write(const char *folder, const char *name, const char *bytes, size_t n_byte, struct error *error)
{
    char path[FOLDER_FILE_SIZE];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wxe");
    bool written = file && fwrite(bytes, 1, n_byte, file) == n_byte;
    if (file && fclose(file) == 0 && written)
        return STATUS_OK;
    return error_system(error, errno, "cannot write %s (TMPDIR names another place)", path);
}

char *folder_read(const char *folder, const char *name, size_t max, size_t *n_byte)
{
    char path[FOLDER_FILE_SIZE];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rbe");
    char *bytes = NULL;
    if (file && fstat(fileno(file), &about) == 0) {
        size_t n = (uintmax_t)about.st_size < max ? (size_t)about.st_size : max;
        bytes = malloc(n + 1);
        if (bytes) {
            *n_byte = fread(bytes, 1, n, file);
            bytes[*n_byte] = '\0';
        }
    }
    if (file)
        fclose(file);
    return bytes;
}
