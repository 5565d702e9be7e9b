/* Identities as bytes; and in words, how two runs differ, for the message about a refused journal
 * or result.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal/run_identity.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/sha256.h"
#include "base/words.h"
#include "io/file/fit_record.h"

#include <inttypes.h>
#include <string.h>

bool identity_equal(const struct run_identity *a, const struct run_identity *b)
{
    return !memcmp(a->problem, b->problem, 32) && !memcmp(a->model, b->model, 32) &&
           !memcmp(a->options, b->options, 32) && a->seed == b->seed &&
           a->n_dataset == b->n_dataset && a->n_start == b->n_start && a->n_refit == b->n_refit &&
           a->n_parameter == b->n_parameter && !strcmp(a->selection, b->selection);
}

/* The text so far, and its size. */
struct text {
    char *out;
    size_t n;
};

/* The next difference begins. */
static void say_item(struct text *text)
{
    if (text->n && text->out[0])
        words_add(text->out, text->n, "; ");
}

static const char *const separators = " \t\n,;";

static bool has_word(const char *description, const char *word, size_t n)
{
    for (const char *p = description + strspn(description, separators); *p;
         p += strspn(p, separators)) {
        size_t n_here = strcspn(p, separators);
        if (n_here == n && !memcmp(p, word, n))
            return true;
        p += n_here;
    }
    return false;
}

/* The words of `mine` that are not in `other`. */
static size_t say_words(struct text *text, const char *mine, const char *other)
{
    size_t n_word = 0;
    for (const char *p = mine + strspn(mine, separators); *p; p += strspn(p, separators)) {
        size_t n = strcspn(p, separators);
        if (!has_word(other, p, n))
            words_add(text->out, text->n, "%s%.*s", n_word++ ? " " : "", (int)n, p);
        p += n;
    }
    return n_word;
}

static void say_count(struct text *text, const char *what, uint64_t before, uint64_t now)
{
    if (before == now)
        return;
    say_item(text);
    words_add(text->out, text->n, "%s: %" PRIu64 " there, %" PRIu64 " here", what, before, now);
}

const char *identity_difference(const struct run_identity *before, const struct run_identity *now,
                                char *out, size_t n)
{
    struct text text = {out, n};
    if (n)
        out[0] = '\0';
    say_count(&text, "number of datasets", before->n_dataset, now->n_dataset);
    say_count(&text, "number of parameters", before->n_parameter, now->n_parameter);
    if (memcmp(before->problem, now->problem, 32)) {
        say_item(&text);
        words_add(out, n, "the problem's data have changed");
    }
    if (memcmp(before->model, now->model, 32)) {
        say_item(&text);
        words_add(out, n, "the model has changed");
    }
    say_count(&text, "seed", before->seed, now->seed);
    say_count(&text, "starts per dataset", before->n_start, now->n_start);
    say_count(&text, "refits per dataset", before->n_refit, now->n_refit);
    if (strcmp(before->selection, now->selection)) {
        say_item(&text);
        words_add(out, n, "datasets there: %s, here: %s",
                  before->selection[0] ? before->selection : "all",
                  now->selection[0] ? now->selection : "all");
    }
    if (memcmp(before->options, now->options, 32)) {
        say_item(&text);
        words_add(out, n, "options there: ");
        if (!say_words(&text, before->description, now->description))
            words_add(out, n, "not given");
        words_add(out, n, ", here: ");
        if (!say_words(&text, now->description, before->description))
            words_add(out, n, "not given");
    }
    return out;
}

/* Only a program with the same list of columns can read the records. */
static uint32_t columns_checksum(void)
{
    uint32_t crc = 0;
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        const struct fit_column_info *column = &fit_columns[i];
        const unsigned char layout[2] = {(unsigned char)column->kind, (unsigned char)column->shape};
        crc = checksum(crc, (const unsigned char *)column->path, strlen(column->path));
        crc = checksum(crc, layout, sizeof layout);
    }
    return crc;
}

void identity_encode(const struct run_identity *identity, unsigned char out[IDENTITY_BYTES])
{
    memset(out, 0, IDENTITY_BYTES);
    memcpy(out, identity->problem, 32);
    memcpy(out + 32, identity->model, 32);
    memcpy(out + 64, identity->options, 32);
    unsigned char *p = bytes_put_64(bytes_put_64(out + 96, identity->seed), identity->n_dataset);
    p = bytes_put_32(bytes_put_32(p, identity->n_start), identity->n_parameter);
    p = bytes_put_32(bytes_put_32(p, columns_checksum()), identity->n_refit);
    size_t n_description = sizeof identity->description, n_selection = sizeof identity->selection;
    memcpy(p, identity->description, strnlen(identity->description, n_description - 1));
    memcpy(p + n_description, identity->selection, strnlen(identity->selection, n_selection - 1));
}

bool identity_decode(struct run_identity *identity, const unsigned char in[IDENTITY_BYTES])
{
    const unsigned char *p = in + 96;
    *identity = (struct run_identity){.seed = bytes_get_64(p)};
    memcpy(identity->problem, in, 32);
    memcpy(identity->model, in + 32, 32);
    memcpy(identity->options, in + 64, 32);
    identity->n_dataset = bytes_get_64(p + 8);
    identity->n_start = bytes_get_32(p + 16);
    identity->n_parameter = bytes_get_32(p + 20);
    identity->n_refit = bytes_get_32(p + 28);
    memcpy(identity->description, p + 32, sizeof identity->description - 1);
    memcpy(identity->selection, p + 32 + sizeof identity->description,
           sizeof identity->selection - 1);
    uint64_t n_task = (uint64_t)identity->n_start + identity->n_refit;
    return bytes_get_32(p + 24) == columns_checksum() &&
           identity->n_parameter <= IDENTITY_MAX_PARAMETER && n_task <= UINT32_MAX &&
           (!n_task || identity->n_dataset <= UINT64_MAX / n_task);
}

void identity_digest(const struct run_identity *identity, unsigned char out[32])
{
    unsigned char bytes[IDENTITY_BYTES];
    struct run_identity numbers = *identity;
    memset(numbers.description, 0, sizeof numbers.description);
    identity_encode(&numbers, bytes);
    sha256_of(bytes, sizeof bytes, out);
}
