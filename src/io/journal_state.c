/* Frames and checks what a search leaves for other processes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal_state.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "io/durable.h"
#include "io/journal.h"
#include "io/journal_format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 1, HEAD = 48, TAIL = 4 };

static void put_head(unsigned char head[HEAD], const struct run_identity *identity, size_t n)
{
    memcpy(head, "STFQ", 4);
    bytes_put_32(head + 4, FORMAT);
    journal_digest(identity, head + 8);
    bytes_put_64(head + 40, n);
}

enum status journal_state_write(const char *journal, const char *name,
                                const struct run_identity *identity, const unsigned char *payload,
                                size_t n, struct error *error)
{
    char path[DURABLE_PATH];
    unsigned char *bytes = malloc(HEAD + n + TAIL);
    if (!bytes)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the file '%s' of the journal", name);
    put_head(bytes, identity, n);
    memcpy(bytes + HEAD, payload, n);
    bytes_put_32(bytes + HEAD + n, checksum(0, bytes, HEAD + n));
    snprintf(path, sizeof path, "%s/%s", journal, name);
    enum status status = durable_write(path, 0666, bytes, HEAD + n + TAIL, error);
    free(bytes);
    return status;
}

static unsigned char *read_all(const char *path, size_t *n)
{
    struct stat found;
    unsigned char *bytes = NULL;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return NULL;
    if (fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_size >= HEAD + TAIL)
        bytes = malloc((size_t)found.st_size);
    ssize_t got = bytes ? 1 : 0;
    for (*n = 0; got > 0 && *n < (size_t)found.st_size; *n += (size_t)got)
        got = read(file, bytes + *n, (size_t)found.st_size - *n);
    close(file);
    if (got > 0)
        return bytes;
    free(bytes);
    return NULL;
}

unsigned char *journal_state_read(const char *journal, const char *name,
                                  const struct run_identity *identity, size_t *n)
{
    char path[DURABLE_PATH];
    unsigned char head[HEAD];
    size_t all;
    snprintf(path, sizeof path, "%s/%s", journal, name);
    unsigned char *bytes = read_all(path, &all);
    if (!bytes)
        return NULL;
    *n = all - HEAD - TAIL;
    put_head(head, identity, *n);
    if (memcmp(head, bytes, HEAD) != 0 ||
        checksum(0, bytes, all - TAIL) != bytes_get_32(bytes + all - TAIL)) {
        free(bytes);
        return NULL;
    }
    memmove(bytes, bytes + HEAD, *n);
    return bytes;
}
