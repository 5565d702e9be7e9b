/* One hash for all tables and models of a PEtab problem, so that a later export sees whether
 * they have changed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/files.h"

#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>

static void add_file(struct petab_reader *reader, struct sha256 *hash, const char *path)
{
    unsigned char buffer[1 << 14];
    uint64_t n_byte = 0;
    FILE *file = fopen(path, "rb");
    int number = errno;
    for (size_t n; file && (n = fread(buffer, 1, sizeof buffer, file)) > 0; n_byte += n)
        sha256_add(hash, buffer, n);
    bool failed = !file || ferror(file);
    if (file)
        fclose(file);
    if (failed) {
        error_system(&reader->error, number, "cannot read '%.300s'", path);
        petab_leave_with(reader);
    }
    sha256_add_uint64(hash, n_byte);
}

const char *petab_hash(struct petab_reader *reader, const char *const *yaml, size_t n,
                       const char *model, bool outside)
{
    struct sha256 hash;
    char *hex = petab_alloc(reader, SHA256_HEX, 1);
    /* the YAML files have been read, and their notes made, before */
    size_t n_note = reader->n_note;
    sha256_begin(&hash);
    for (size_t i = 0; i < n; i++) {
        struct petab_files files;
        petab_files_read(reader, &files, yaml[i], model, outside);
        for (int kind = 0; kind < N_PETAB_KIND; kind++) {
            sha256_add_uint64(&hash, files.list[kind].n);
            for (size_t k = 0; k < files.list[kind].n; k++)
                add_file(reader, &hash, files.list[kind].path[k]);
        }
    }
    reader->n_note = n_note;
    sha256_end_hex(&hash, hex);
    return hex;
}
