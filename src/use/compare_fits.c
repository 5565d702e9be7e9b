/* SPDX-License-Identifier: BSD-3-Clause */
#include "use/compare_fits.h"

#include "base/words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_HEX = 8 }; /* the hash of a column's groups in the identity */

/* Where the name of a column ends, which may have any characters: at ":", 8 hexadecimal digits and
 * the end of the entry. NULL: there is no such end. */
static const char *end_of_column(const char *text)
{
    for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
        size_t n = strspn(at + 1, "0123456789abcdef");
        if (n == N_HEX && strchr(", ", at[1 + n]))
            return at;
    }
    return NULL;
}

/* The number of the column of this name among those that have groups; SIZE_MAX: the result has no
 * such column, or the identity names a parameter twice. */
static size_t take_column(struct compare_fits *fits, const char *name, size_t n)
{
    const struct own_columns *own = &fits->info->column;
    for (size_t i = 0; i < own->n; i++) {
        size_t c = 0;
        if (strlen(own->name[i]) != n || memcmp(own->name[i], name, n) != 0)
            continue;
        while (c < fits->n_column && fits->column[c] != (int)i)
            c++;
        if (c == fits->info->n_parameter)
            return SIZE_MAX;
        fits->column[c] = (int)i;
        fits->n_column += c == fits->n_column;
        return c;
    }
    return SIZE_MAX;
}

/* Reads NAME[@COLUMN:HASH],... of the identity's words. False: the text is not such a list, but a
 * hash of one that was too long. */
static bool read_levels(struct compare_fits *fits, const char *text)
{
    const struct result_info *info = fits->info;
    for (bool more = true; more;) {
        size_t n = strcspn(text, "@, "), j = 0, c = 0;
        while (j < info->n_parameter && !(strlen(info->parameter_name[j]) == n
                                          && !memcmp(info->parameter_name[j], text, n)))
            j++;
        if (j == info->n_parameter)
            return false;
        text += n;
        fits->level[j] = 1;
        if (*text == '@') {
            const char *end = end_of_column(text + 1);
            c = end ? take_column(fits, text + 1, (size_t)(end - text - 1)) : SIZE_MAX;
            if (c == SIZE_MAX)
                return false;
            fits->level[j] = (uint8_t)(2 + c);
            text = end + 1 + N_HEX;
        }
        fits->is_one = fits->is_one || fits->level[j] == 1;
        more = *text++ == ',';
    }
    return true;
}

bool compare_fits_init(struct compare_fits *fits, const struct result_info *info)
{
    static const char word[] = " share=";
    const char *text = strstr(info->identity.description, word);
    *fits = (struct compare_fits){.info = info, .is_joint = info->is_shared};
    fits->level = calloc(info->n_parameter + 1, sizeof *fits->level);
    fits->column = calloc(info->n_parameter + 1, sizeof *fits->column);
    fits->value = calloc(info->n_parameter + 1, sizeof *fits->value);
    fits->group = calloc(info->n_parameter + 1, sizeof *fits->group);
    if (!fits->level || !fits->column || !fits->value || !fits->group)
        return false;
    if (!fits->is_joint || (text && read_levels(fits, text + sizeof word - 1)))
        return true;
    fits->is_one = true;
    fits->n_column = 0;
    memset(fits->level, 1, info->n_parameter);
    return true;
}

static bool reserve(struct compare_fits *fits)
{
    if (fits->n < fits->capacity)
        return true;
    uint32_t capacity = fits->capacity ? 2 * fits->capacity : 1024;
    uint32_t *id = realloc(fits->id, capacity * sizeof *id);
    fits->id = id ? id : fits->id;
    bool *is_in = realloc(fits->is_in, capacity * sizeof *is_in), is_good = id && is_in;
    fits->is_in = is_in ? is_in : fits->is_in;
    for (size_t c = 0; is_good && c < fits->n_column; c++) {
        uint32_t *group = realloc(fits->group[c], capacity * sizeof *group);
        fits->group[c] = group ? group : fits->group[c];
        is_good = group != NULL;
    }
    fits->capacity = is_good ? capacity : fits->capacity;
    return is_good;
}

bool compare_fits_add(struct compare_fits *fits, uint32_t id, const struct fit_record *record)
{
    if (!fits->is_joint)
        return true;
    if (!reserve(fits))
        return false;
    for (size_t c = 0; c < fits->n_column; c++) {
        const struct own_value *value = &record->own[fits->column[c]];
        char number[40];
        snprintf(number, sizeof number, "%.17g", value->number + 0.0); /* -0 is 0 */
        uint32_t group = id_table_add(&fits->value[c], value->text ? value->text : number);
        if (group == ID_NO_MEMORY)
            return false;
        fits->group[c][fits->n] = group;
    }
    fits->id[fits->n] = id;
    fits->is_in[fits->n++] = outcome_is_success((enum outcome)record->outcome);
    return true;
}

bool compare_fits_end(struct compare_fits *fits, uint32_t n_id)
{
    size_t *n_group = calloc(fits->n_column + 1, sizeof *n_group);
    fits->row = malloc(((size_t)n_id + 1) * sizeof *fits->row);
    if (!n_group || !fits->row) {
        free(n_group);
        return false;
    }
    for (uint32_t id = 0; id < n_id; id++)
        fits->row[id] = ID_NONE;
    for (uint32_t i = 0; i < fits->n; i++)
        if (fits->id[i] != ID_NONE)
            fits->row[fits->id[i]] = i;
    for (size_t c = 0; c < fits->n_column; c++)
        n_group[c] = fits->value[c].n;
    bool is_good = components_find(&fits->components, fits->n, fits->n_column,
                                   (const uint32_t *const *)fits->group, n_group, fits->is_one);
    free(n_group);
    return is_good;
}

void compare_fits_fini(struct compare_fits *fits)
{
    for (size_t c = 0; c < fits->n_column; c++) {
        id_table_fini(&fits->value[c]);
        free(fits->group[c]);
    }
    components_fini(&fits->components);
    free(fits->level);
    free(fits->column);
    free(fits->value);
    free(fits->group);
    free(fits->id);
    free(fits->is_in);
    free(fits->row);
    *fits = (struct compare_fits){.info = NULL};
}

/* Whether datasets with one value of a parameter in `fine` have one in `coarse`, at these levels
 * there: of the datasets that both results have. */
static bool is_within(const struct compare_fits *fine, size_t fine_level,
                      const struct compare_fits *coarse, size_t coarse_level)
{
    if (fine_level == 0 || coarse_level == 1)
        return true;
    if (fine_level == 1 || coarse_level == 0)
        return false;
    const uint32_t *from = fine->group[fine_level - 2], *to = coarse->group[coarse_level - 2];
    size_t n = fine->value[fine_level - 2].n;
    uint32_t *image = malloc((n + 1) * sizeof *image);
    bool is_good = image != NULL; /* without memory they count as not nested */
    for (size_t g = 0; is_good && g < n; g++)
        image[g] = ID_NONE;
    for (uint32_t i = 0; is_good && i < fine->n; i++) {
        uint32_t other = fine->id[i] == ID_NONE ? ID_NONE : coarse->row[fine->id[i]];
        if (other == ID_NONE)
            continue;
        is_good = image[from[i]] == ID_NONE || image[from[i]] == to[other];
        image[from[i]] = to[other];
    }
    free(image);
    return is_good;
}

bool compare_fits_are_nested(const struct compare_fits *small, const struct compare_fits *large)
{
    const struct result_info *few = small->info, *many = large->info;
    bool has_more = few->n_parameter < many->n_parameter;
    for (size_t j = 0; j < few->n_parameter; j++) {
        int at = words_find(few->parameter_name[j], many->parameter_name, many->n_parameter);
        if (at < 0 || !is_within(large, large->level[at], small, small->level[j]))
            return false;
        has_more = has_more || !is_within(small, small->level[j], large, large->level[at]);
    }
    return has_more;
}

/* Numbers the fits by id; a dataset outside all of them is one of its own. Returns how many
 * numbers there may be. */
static size_t number_fits(const struct compare_fits *fits, uint32_t n_id, uint32_t *number)
{
    for (uint32_t id = 0; id < n_id; id++) {
        uint32_t row = fits->is_joint ? fits->row[id] : ID_NONE;
        bool is_in = row != ID_NONE && fits->is_in[row];
        number[id] = is_in ? fits->components.of[row] : fits->components.n + id;
    }
    return (size_t)fits->components.n + n_id;
}

/* Marks the sets in which one of the result's fits has a dataset that is not compared. */
static void mark_cut(struct compare_sets *sets, const struct compare_fits *fits,
                     const bool *is_compared)
{
    const struct components *components = &fits->components;
    for (uint32_t c = 0; fits->is_joint && c < components->n; c++) {
        const uint32_t *member = components_members(components, c);
        size_t n = components_size(components, c);
        bool is_cut = false;
        for (size_t i = 0; i < n; i++) {
            uint32_t id = fits->id[member[i]];
            is_cut = is_cut || (fits->is_in[member[i]] && (id == ID_NONE || !is_compared[id]));
        }
        for (size_t i = 0; is_cut && i < n; i++)
            if (fits->is_in[member[i]] && fits->id[member[i]] != ID_NONE)
                sets->is_cut[sets->set.of[fits->id[member[i]]]] = true;
    }
}

bool compare_sets_init(struct compare_sets *sets, const struct compare_fits *a,
                       const struct compare_fits *b, const bool *is_compared, uint32_t n_id)
{
    uint32_t *number = calloc(2 * (size_t)n_id + 1, sizeof *number);
    *sets = (struct compare_sets){.is_cut = calloc((size_t)n_id + 1, sizeof *sets->is_cut)};
    bool is_good = number && sets->is_cut;
    if (is_good) {
        const uint32_t *const group[] = {number, number + n_id};
        const size_t n_group[] = {number_fits(a, n_id, number),
                                  number_fits(b, n_id, number + n_id)};
        is_good = components_find(&sets->set, n_id, 2, group, n_group, false);
    }
    if (is_good) {
        mark_cut(sets, a, is_compared);
        mark_cut(sets, b, is_compared);
    }
    free(number);
    return is_good;
}

void compare_sets_fini(struct compare_sets *sets)
{
    components_fini(&sets->set);
    free(sets->is_cut);
    *sets = (struct compare_sets){.is_cut = NULL};
}
