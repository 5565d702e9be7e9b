/* What a result says of its retries: the provenance grows by each, and a journal may be left over from the last one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/finish/retry.h"

#include "run/plan/selection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_FACT = 4 };

/* "retry=..." of a selection's text, "" where there is none. */
static const char *retry_words(const char *selection)
{
    const char *words = strstr(selection, "retry=");
    return words ? words : "";
}

enum status retry_drop_spent_journal(const char *result_path, const char *journal_path, struct error *error)
{
    struct result *result = NULL;
    struct journal_reader *journal = NULL;
    struct error ignored;
    bool spent = false;
    if (!journal_read(&journal, journal_path, NULL, &ignored) && journal_identity(journal) &&
        !result_open(&result, result_path, &ignored)) {
        const struct run_identity *identity = journal_identity(journal);
        const struct result_info *info = result_info(result);
        char name[40];
        snprintf(name, sizeof name, "retry_%u_selection", selection_n_retry(info));
        const char *last = provenance_fact(&info->provenance, name);
        spent = identity_equal(identity, &info->identity) || (last && !strcmp(last, retry_words(identity->selection)));
    }
    journal_reader_free(journal);
    result_close(result);
    return spent ? journal_remove(journal_path, error) : STATUS_OK;
}

enum status retry_provenance_init(struct retry_provenance *retry, const struct result_info *before,
                                  const struct result_info *now, struct error *error)
{
    static const char *const what[N_FACT] = {"selection", "command_line", "options", "started"};
    const char *value[N_FACT] = {retry_words(now->identity.selection)};
    size_t n = before->provenance.n;
    *retry = (struct retry_provenance){.name = calloc(n + N_FACT, sizeof *retry->name),
                                       .value = calloc(n + N_FACT, sizeof *retry->value)};
    if (!retry->name || !retry->value)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the provenance");
    for (size_t i = 0; i < n; i++) {
        retry->name[i] = before->provenance.name[i];
        retry->value[i] = before->provenance.value[i];
    }
    for (size_t i = 0; i < N_FACT; i++) {
        if (i > 0)
            value[i] = provenance_fact(&now->provenance, what[i]);
        snprintf(retry->own_name[i], sizeof retry->own_name[i], "retry_%u_%s", selection_n_retry(before) + 1, what[i]);
        retry->name[n + i] = retry->own_name[i];
        retry->value[n + i] = value[i] ? value[i] : "";
    }
    retry->provenance = (struct provenance){n + N_FACT, retry->name, retry->value};
    return STATUS_OK;
}

void retry_provenance_fini(struct retry_provenance *retry)
{
    free(retry->name);
    free(retry->value);
    retry->name = retry->value = NULL;
}
