/* Selections, with one bit per dataset.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/selection.h"

#include "run/plan/selection_source.h"

#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool selection_has(const struct selection *selection, uint64_t dataset)
{
    return !selection->bit || selection->bit[dataset / 8] >> dataset % 8 & 1;
}

bool selection_wants(const void *selection, uint64_t dataset) { return selection_has(selection, dataset); }

static void count(struct selection *selection)
{
    selection->n = 0;
    for (uint64_t d = 0; d < selection->n_dataset; d++)
        selection->n += selection_has(selection, d);
}

void selection_fini(struct selection *selection)
{
    free(selection->bit);
    selection->bit = NULL;
}

void selection_narrow(struct selection *selection, unsigned char *bit, const char *words)
{
    size_t used = strlen(selection->text);
    for (uint64_t i = 0; selection->bit && i < selection->n_dataset / 8 + 1; i++)
        bit[i] &= selection->bit[i];
    free(selection->bit);
    selection->bit = bit;
    snprintf(selection->text + used, sizeof selection->text - used, "%s%s", used ? " " : "", words);
    count(selection);
}

static void interleave(struct selection *selection, const struct shard *shard)
{
    for (uint64_t d = shard->k - 1; d < selection->n_dataset; d += shard->n)
        selection_set(selection->bit, d);
    snprintf(selection->text, sizeof selection->text, "shard=%u/%u", shard->k, shard->n);
}

enum status selection_open(struct selection *selection, const struct selection_request *request, struct problem *problem,
                           struct error *error)
{
    uint64_t n = problem_info(problem)->n_dataset;
    enum status status = STATUS_OK;
    *selection = (struct selection){.n_dataset = n, .n = n};
    if (!request->only && !request->shard.n)
        return STATUS_OK;
    if (!(selection->bit = calloc((size_t)(n / 8 + 1), 1)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a selection of %llu datasets", (unsigned long long)n);
    if (request->only)
        status = selection_by_ids(selection, request->only, problem, error);
    else if (request->cost_from)
        status = selection_by_cost(selection, &request->shard, request->cost_from, problem, error);
    else
        interleave(selection, &request->shard);
    count(selection);
    return status;
}

const char *selection_retry_words(const char *text)
{
    const char *words = strstr(text, "retry=");
    return words ? words : "";
}

bool selection_is_shard(const char *text, uint32_t *k, uint32_t *n)
{
    return sscanf(text, "shard=%u/%u", k, n) == 2 && *k > 0 && *k <= *n;
}

const char *selection_describe(const struct selection *selection, char *text, size_t size)
{
    uint32_t k, n;
    char what[80] = "";
    text[0] = '\0';
    if (!selection->bit)
        return text;
    if (selection_is_shard(selection->text, &k, &n))
        snprintf(what, sizeof what, "shard %u of %u%s", k, n, strstr(selection->text, "cost-from=") ? ", dealt by cost" : "");
    else if (!strncmp(selection->text, "only=", 5))
        snprintf(what, sizeof what, "datasets chosen with --only");
    if (strstr(selection->text, "retry="))
        snprintf(what + strlen(what), sizeof what - strlen(what), "%sthose that failed", what[0] ? ", " : "");
    snprintf(text, size, "%s: %llu of %llu datasets", what, (unsigned long long)selection->n,
             (unsigned long long)selection->n_dataset);
    return text;
}

/* A single name that is safe for any file system, or a hash of the list. */
static void name_only(const char *list, char *text, size_t size)
{
    static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-";
    struct selection_names names = {0};
    struct sha256 hash;
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX];
    if (strlen(list) <= 64 && strspn(list, plain) == strlen(list)) {
        snprintf(text, size, ".only-%s", list);
        return;
    }
    sha256_begin(&hash);
    if (selection_split(&names, list))
        for (size_t i = 0; i < names.n; i++)
            sha256_add_string(&hash, names.name[i]);
    sha256_end(&hash, digest);
    sha256_hex(digest, hex);
    snprintf(text, size, ".only-%.12s", hex);
    selection_names_fini(&names);
}

void selection_suffix(const struct selection_request *request, char *text, size_t size)
{
    text[0] = '\0';
    if (request->only)
        name_only(request->only, text, size);
    else if (request->shard.n)
        snprintf(text, size, ".shard-%u-of-%u", request->shard.k, request->shard.n);
}
