/* Plans as files: the header of a journal file, the words of the options, an empty word, the bits of the selection, and the
 * SHA-256 of all this.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/run_plan.h"

#include "base/sha256.h"
#include "io/durable.h"
#include "io/journal.h"
#include "io/journal_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_WORD = 128 };

void run_plan_fini(struct run_plan *plan)
{
    refit_plan_fini(&plan->refits);
    selection_fini(&plan->selection);
    run_paths_fini(&plan->paths);
    free(plan->text);
    plan->text = NULL;
}

static enum status path_of(const char *journal, char path[DURABLE_PATH], struct error *error)
{
    if (snprintf(path, DURABLE_PATH, "%s/%s", journal, JOURNAL_PLAN) >= DURABLE_PATH)
        return error_set(error, STATUS_SYSTEM, "%s: the path is too long", journal);
    return STATUS_OK;
}

/* The whole file's bytes; free. NULL: out of memory. */
static char *encode(const struct run_plan *plan, const struct run_options *options, size_t *n_byte)
{
    unsigned char header[JOURNAL_HEADER_SIZE], digest[SHA256_BYTES];
    char *bytes = NULL;
    size_t n_word = 0, n_bit = plan->selection.bit ? (size_t)(plan->selection.n_dataset / 8 + 1) : 0;
    char *words = run_options_words(options, &n_word);
    FILE *out = words ? open_memstream(&bytes, n_byte) : NULL;
    if (out) {
        journal_encode_header(&plan->identity, header);
        fwrite(header, sizeof header, 1, out);
        fwrite(words, n_word, 1, out);
        fputc(0, out);
        if (n_bit)
            fwrite(plan->selection.bit, n_bit, 1, out);
        bool failed = fflush(out) != 0;
        if (!failed)
            sha256_of(bytes, *n_byte, digest);
        fwrite(digest, sizeof digest, 1, out);
        failed = failed || ferror(out);
        if (fclose(out) || failed) {
            free(bytes);
            bytes = NULL;
        }
    }
    free(words);
    return bytes;
}

enum status run_plan_write(const struct run_plan *plan, const struct run_options *options, struct error *error)
{
    char path[DURABLE_PATH];
    size_t n_byte;
    char *bytes = encode(plan, options, &n_byte);
    if (!bytes)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the plan of the run");
    enum status status = path_of(plan->paths.journal, path, error);
    if (!status)
        status = durable_write(path, 0666, bytes, n_byte, error);
    free(bytes);
    return status;
}

/* Removes the digest from the end; false: it is not that of the bytes before it. */
static bool check_digest(const char *text, size_t *n)
{
    unsigned char digest[SHA256_BYTES];
    if (*n < JOURNAL_HEADER_SIZE + sizeof digest)
        return false;
    *n -= sizeof digest;
    sha256_of(text, *n, digest);
    return !memcmp(digest, text + *n, sizeof digest);
}

/* The whole file into plan->text, with a NUL behind it. */
static enum status read_text(struct run_plan *plan, const char *path, size_t *n, struct error *error)
{
    struct stat about;
    enum status status = STATUS_OK;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 || fstat(file, &about) != 0)
        status = error_system(error, errno, "cannot read the plan of the run, '%s'", path);
    else if (!S_ISREG(about.st_mode))
        status = error_set(error, STATUS_SYSTEM, "the plan of the run, '%s', is not a regular file", path);
    else if (!(plan->text = malloc((size_t)about.st_size + 1)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for '%s'", path);
    for (*n = 0; !status && *n < (size_t)about.st_size;) {
        ssize_t got = read(file, plan->text + *n, (size_t)about.st_size - *n);
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            status = error_system(error, errno, "cannot read '%s'", path);
        *n += got > 0 ? (size_t)got : 0;
    }
    if (plan->text)
        plan->text[*n] = '\0';
    if (file >= 0)
        close(file);
    return status;
}

static enum status take_selection(struct run_plan *plan, const char *bits, size_t n, struct error *error)
{
    struct selection *selection = &plan->selection;
    size_t n_bit = (size_t)(plan->identity.n_dataset / 8 + 1);
    *selection = (struct selection){.n_dataset = plan->identity.n_dataset, .n = plan->identity.n_dataset};
    if (!plan->identity.selection[0])
        return STATUS_OK;
    unsigned char *bit = n >= n_bit ? malloc(n_bit) : NULL;
    if (!bit)
        return error_set(error, STATUS_SYSTEM, "%s: the plan in it is damaged, or memory is short", plan->paths.journal);
    memcpy(bit, bits, n_bit);
    selection_narrow(selection, bit, plan->identity.selection);
    return STATUS_OK;
}

enum status run_plan_read(struct run_plan *plan, const char *journal, struct error *error)
{
    char path[DURABLE_PATH], *word[MAX_WORD];
    struct run_options options;
    size_t n = 0, at = JOURNAL_HEADER_SIZE;
    int n_word = 0;
    bool help;
    *plan = (struct run_plan){.text = NULL};
    enum status status = path_of(journal, path, error);
    if (!status)
        status = read_text(plan, path, &n, error);
    if (status)
        return status;
    if (!check_digest(plan->text, &n) ||
        journal_decode_header((const unsigned char *)plan->text, n, &plan->identity) != JOURNAL_HEADER_GOOD)
        return error_set(error, STATUS_SYSTEM, "'%s' is damaged, or was written by another version of stiffit", path);
    for (; at < n && plan->text[at] && n_word < MAX_WORD; at += strlen(plan->text + at) + 1)
        word[n_word++] = plan->text + at;
    at++;
    status = run_options_parse(&options, n_word, word, &help, error);
    if (status)
        return status;
    plan->recipe = options.recipe;
    plan->shown = options.shown;
    if ((status = run_options_paths(&options, &plan->paths, error)))
        return status;
    return take_selection(plan, plan->text + at, at < n ? n - at : 0, error);
}
