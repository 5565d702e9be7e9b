/* SPDX-License-Identifier: BSD-3-Clause */
#include "import/open.h"

#include "base/arena.h"
#include "base/id_table.h"
#include "base/words.h"
#include "import/well.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

/* A file in memory, as lines of fields. */
struct line {
    char **field;
    size_t n, n_filled; /* up to the last field that is not empty; those that are not */
};
struct sheet {
    const char *path;
    struct arena arena;
    struct line *line;
    size_t n, room;
    char delimiter;
};

static enum status no_memory(const struct sheet *sheet, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", sheet->path);
}

static char *read_all(struct sheet *sheet, enum status *status, struct error *error)
{
    FILE *file = fopen(sheet->path, "re");
    size_t n = 0, room = 1 << 16, got;
    char *text = file ? malloc(room) : NULL;
    if (!file)
        *status = error_system(error, errno, "cannot read '%s'", sheet->path);
    while (text && (got = fread(text + n, 1, room - n - 1, file)) > 0) {
        n += got;
        char *longer = room - n > 1 ? text : realloc(text, 2 * room);
        room = longer == text && room - n > 1 ? room : 2 * room;
        if (!longer)
            free(text);
        text = longer;
    }
    if (file && !text)
        *status = no_memory(sheet, error);
    if (text)
        text[n] = '\0';
    if (file)
        fclose(file);
    return text;
}

/* The one of tab, semicolon and comma that the file has most of; quotes are not looked at. */
static char find_delimiter(const char *text)
{
    static const char candidates[] = "\t;,";
    size_t best = 0;
    char found = ',';
    for (const char *c = candidates; *c; c++) {
        size_t n = 0;
        for (const char *at = text; (at = strchr(at, *c)) != NULL; at++)
            n++;
        if (n > best && (*c != ',' || best == 0)) {
            best = n;
            found = *c;
        }
    }
    return found;
}

/* Cuts off the next field, without blanks and quotes around it. */
static char *take_field(char **at, char delimiter)
{
    char *field = *at, *end;
    field += strspn(field, delimiter == '\t' ? " " : " \t");
    if (*field == '"' && (end = strchr(field + 1, '"')) && (!end[1] || end[1] == delimiter)) {
        *end = '\0';
        *at = end[1] ? end + 2 : NULL;
        return field + 1;
    }
    end = strchr(field, delimiter);
    *at = end ? end + 1 : NULL;
    if (!end)
        end = field + strlen(field);
    *end = '\0';
    while (end > field && (end[-1] == ' ' || end[-1] == '\r'))
        *--end = '\0';
    return field;
}

static bool split_line(struct sheet *sheet, char *text)
{
    size_t room = 1;
    for (const char *c = text; *c; c++)
        room += *c == sheet->delimiter;
    struct line line = {.field = arena_calloc(&sheet->arena, room, sizeof *line.field)};
    if (!line.field || !array_grow(&sheet->line, sheet->n, &sheet->room, sizeof *sheet->line))
        return false;
    for (size_t i = 0; text && i < room; i++) {
        line.field[i] = take_field(&text, sheet->delimiter);
        line.n = *line.field[i] ? i + 1 : line.n;
        line.n_filled += *line.field[i] != '\0';
    }
    sheet->line[sheet->n++] = line;
    return true;
}

static enum status split(struct sheet *sheet, char *text, struct error *error)
{
    if (!strncmp(text, "\xef\xbb\xbf", 3))
        text += 3;
    sheet->delimiter = find_delimiter(text);
    while (text && *text) {
        char *end = strchr(text, '\n');
        if (end)
            *end = '\0';
        if (*text != '#' && !split_line(sheet, text))
            return no_memory(sheet, error);
        text = end ? end + 1 : NULL;
    }
    return STATUS_OK;
}

static bool is_number(const char *text)
{
    double number;
    return csv_parse_double(text, &number);
}

static bool is_title(const struct line *line)
{
    return line->n_filled == 1 && !is_number(line->field[line->n - 1]);
}
static const char *title_of(const struct line *line) { return line->field[line->n - 1]; }

/* Column numbers from 1 behind the corner, above a row A. */
static bool is_grid(const struct sheet *sheet, size_t at)
{
    const struct line *line = &sheet->line[at];
    bool good = line->n > 2 && at + 1 < sheet->n && sheet->line[at + 1].n > 0 &&
                !strcasecmp(sheet->line[at + 1].field[0], "A");
    for (size_t j = 1; good && j < line->n; j++) {
        char *end;
        good = strtoul(line->field[j], &end, 10) == j && !*end && *line->field[j] != '0';
    }
    return good;
}

static bool is_letters(const char *text)
{
    size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    return n >= 1 && n <= 2 && !text[n];
}

/* A line of names of a block of times: a time, then names. */
static size_t time_column(const struct line *line)
{
    for (size_t j = 0; j < line->n; j++)
        if (!strncasecmp(line->field[j], "time", 4) && strcspn(line->field[j], " [(") == 4)
            return j;
    return CSV_NO_COLUMN;
}

static void put(FILE *file, char delimiter, const char *text, char end)
{
    if (strchr(text, delimiter) || strchr(text, '"') || strpbrk(text, "#\n")) {
        putc('"', file);
        for (; *text; text++)
            fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, file);
        putc('"', file);
    } else {
        fputs(text, file);
    }
    putc(end, file);
}

/* The cells of grids, each a column of wells. */
struct layout {
    struct id_table name, well;
    struct cell {
        uint32_t name, well;
        const char *text;
    } *cell;
    size_t n, room;
};

/* false: no memory. */
static bool take_grid(struct layout *layout, const struct sheet *sheet, size_t *at,
                      const char *title)
{
    const struct line *head = &sheet->line[*at];
    const char *corner = head->field[0], *plate = *corner ? title : "";
    uint32_t name = id_table_add(&layout->name, *corner ? corner : *title ? title : "layout");
    bool good = name != ID_NO_MEMORY;
    for (++*at; good && *at < sheet->n && sheet->line[*at].n > 0 &&
                is_letters(sheet->line[*at].field[0]);
         ++*at) {
        const struct line *line = &sheet->line[*at];
        for (size_t j = 1; good && j < head->n; j++) {
            char well[NAME_BYTES];
            snprintf(well, sizeof well, "%.3000s%s%s%zu", plate, *plate ? "_" : "",
                     line->field[0], j);
            struct cell cell = {name, id_table_add(&layout->well, well),
                                j < line->n ? line->field[j] : ""};
            good = cell.well != ID_NO_MEMORY &&
                   array_grow(&layout->cell, layout->n, &layout->room, sizeof *layout->cell);
            if (good)
                layout->cell[layout->n++] = cell;
        }
    }
    return good;
}

/* The layout as a table: a text for each well and name. */
static enum status tabulate(const struct layout *layout, const struct sheet *sheet,
                            const char **text, struct error *error)
{
    for (size_t i = 0; i < layout->n; i++) {
        const struct cell *cell = &layout->cell[i];
        const char **at = &text[cell->well * (size_t)layout->name.n + cell->name];
        if (*at)
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: the grids describe '%.100s' of well '%.100s' twice; remove one "
                             "row or grid, or name another column or plate above it",
                             sheet->path, layout->name.id[cell->name],
                             layout->well.id[cell->well]);
        *at = cell->text;
    }
    return STATUS_OK;
}

static enum status write_layout(const struct sheet *sheet, FILE *file, struct error *error)
{
    struct layout layout = {.cell = NULL};
    const char *title = "";
    bool good = true;
    for (size_t i = 0; good && i < sheet->n;) {
        if (is_grid(sheet, i)) {
            good = take_grid(&layout, sheet, &i, title);
            continue;
        }
        title = is_title(&sheet->line[i]) ? title_of(&sheet->line[i]) : title;
        i++;
    }
    size_t n = layout.name.n;
    const char **text = calloc((size_t)layout.well.n * n + 1, sizeof *text);
    enum status status =
        good && text ? tabulate(&layout, sheet, text, error) : no_memory(sheet, error);
    put(file, sheet->delimiter, "dataset", n ? sheet->delimiter : '\n');
    for (size_t c = 0; c < n; c++)
        put(file, sheet->delimiter, layout.name.id[c], c + 1 < n ? sheet->delimiter : '\n');
    for (uint32_t w = 0; !status && w < layout.well.n; w++) {
        put(file, sheet->delimiter, layout.well.id[w], sheet->delimiter);
        for (size_t c = 0; c < n; c++)
            put(file, sheet->delimiter, text[w * n + c] ? text[w * n + c] : "",
                c + 1 < n ? sheet->delimiter : '\n');
    }
    free(text);
    free(layout.cell);
    id_table_fini(&layout.name);
    id_table_fini(&layout.well);
    return status;
}

/* Whether a field of the line of names is a dataset: if most are called like wells, only these. */
static bool has_most_wells(const struct line *head, size_t time)
{
    size_t n_well = 0, n_named = 0;
    for (size_t j = 0; j < head->n; j++) {
        n_named += j != time && *head->field[j];
        n_well += j != time && well_of(head->field[j]);
    }
    return 2 * n_well > n_named;
}

static void write_wells(const struct sheet *sheet, const struct stiffit_model *abi, FILE *file)
{
    const struct line *head = NULL;
    const char *observable = "", *plate = "";
    const char d = sheet->delimiter;
    size_t time = 0;
    bool wells_only = false;
    fprintf(file, "dataset%ctime%cobservable%cvalue\n", d, d, d);
    for (size_t i = 0; i < sheet->n; i++) {
        const struct line *line = &sheet->line[i];
        if (is_title(line)) {
            const char *title = title_of(line);
            bool is_observable =
                words_find(title, abi->observable_name, abi->n_observable) >= 0;
            observable = is_observable ? title : observable;
            plate = is_observable ? plate : title;
            head = NULL;
        } else if (time_column(line) != CSV_NO_COLUMN) {
            head = line;
            time = time_column(line);
            wells_only = has_most_wells(head, time);
        } else if (head && line->n_filled) {
            for (size_t j = 0; j < head->n && j < line->n; j++) {
                const char *name = head->field[j];
                if (j == time || !*name || (wells_only && !well_of(name)) || !*line->field[j])
                    continue;
                if (*plate)
                    fprintf(file, "%s_", plate);
                put(file, d, name, d);
                put(file, d, time < line->n ? line->field[time] : "", d);
                put(file, d, *observable ? observable : abi->observable_name[0], d);
                put(file, d, line->field[j], '\n');
            }
        }
    }
}

/* Whether the sheet has grids, or titles and several lines of names. */
static bool has_blocks(const struct sheet *sheet, enum import_form form)
{
    size_t n_head = 0, n_title = 0;
    bool found = false;
    for (size_t i = 0; i < sheet->n && !found; i++) {
        found = form == FORM_LAYOUT && is_grid(sheet, i);
        n_title += form == FORM_WELLS && is_title(&sheet->line[i]);
        n_head += form == FORM_WELLS && time_column(&sheet->line[i]) != CSV_NO_COLUMN;
    }
    return found || n_head > 1 || (n_head == 1 && n_title > 0);
}

static enum status check_wells(const struct sheet *sheet, const struct stiffit_model *abi,
                               struct error *error)
{
    bool is_known = abi->n_observable == 1, any = false;
    for (size_t i = 0; i < sheet->n; i++) {
        const struct line *line = &sheet->line[i];
        any = any || (is_title(line) &&
                      words_find(title_of(line), abi->observable_name, abi->n_observable) >= 0);
        if (time_column(line) != CSV_NO_COLUMN && !any && !is_known)
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: the model has %u observables: above each block of wells a line "
                             "with the name of its observable is needed, such as '%s'",
                             sheet->path, abi->n_observable, abi->observable_name[0]);
    }
    return STATUS_OK;
}

/* *reader stays NULL if the file has no blocks. */
static enum status open_blocks(struct csv_reader **reader, const char *path, enum import_form form,
                               const struct stiffit_model *abi, struct error *error)
{
    struct sheet sheet = {.path = path};
    enum status status = STATUS_OK;
    char *text = read_all(&sheet, &status, error), *list = NULL;
    size_t n = 0;
    if (!status)
        status = split(&sheet, text, error);
    if (!status && has_blocks(&sheet, form)) {
        FILE *file = open_memstream(&list, &n);
        if (form == FORM_WELLS)
            status = check_wells(&sheet, abi, error);
        if (!file)
            status = no_memory(&sheet, error);
        else if (form == FORM_LAYOUT)
            status = write_layout(&sheet, file, error);
        if (!status && form == FORM_WELLS)
            write_wells(&sheet, abi, file);
        if (file && fclose(file) != 0 && !status)
            status = no_memory(&sheet, error);
        char name[1000];
        snprintf(name, sizeof name, "%.900s (as a list of wells)", path);
        if (!status)
            status = csv_open_text(reader, list, n, name, error);
    }
    free(list);
    free(text);
    free(sheet.line);
    arena_fini(&sheet.arena);
    return status;
}

/* Whether there is the first of these columns; then csv_join has found all. */
static bool has_first(const struct csv_reader *reader, const char *list)
{
    char *first = strndup(list, strcspn(list, ","));
    bool found = first && csv_find_column(reader, first) != CSV_NO_COLUMN;
    free(first);
    return found;
}

enum status import_open(struct csv_reader **reader, const char *path, enum import_form form,
                        const struct import_options *options, const struct stiffit_model *abi,
                        bool *is_changed, struct error *error)
{
    enum status status = STATUS_OK;
    *reader = NULL;
    if (form != FORM_TABLE && strcmp(path, "-"))
        status = open_blocks(reader, path, form, abi, error);
    bool changed = *reader != NULL;
    if (is_changed)
        *is_changed = changed;
    if (!status && !changed)
        status = csv_open(reader, path, error);
    if (!status)
        csv_set_missing(*reader, options->missing.item, options->missing.n);
    if (!status && !changed && options->id && form != FORM_WELLS) {
        status = csv_join(*reader, "dataset", options->id, '_', error);
        if (!status && options->id_found && has_first(*reader, options->id))
            *options->id_found = true;
    }
    return status;
}
