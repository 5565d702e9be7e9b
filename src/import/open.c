/* SPDX-License-Identifier: BSD-3-Clause */
#include "import/open.h"

#include "base/arena.h"
#include "base/id_table.h"
#include "base/words.h"
#include "import/clock.h"
#include "import/notes.h"
#include "import/observable.h"
#include "import/well.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A file's lines of fields. */
struct line {
    char **field;
    size_t n_field;     /* given */
    size_t n, n_filled; /* up to the last field that is not empty; those that are not */
    uint64_t number;
};
struct sheet {
    const char *path;
    struct arena arena;
    struct line *line;
    size_t n, room;
    char delimiter;
    /* lines that belong to no block, and rows of grids without fields for all columns */
    struct csv_lines beside, cut;
};

/* The table that is made of a sheet. */
struct list {
    FILE *file;
    char delimiter;
    uint64_t *line; /* of the sheet, for each field below the names */
    size_t n, room;
};

static enum status no_memory(const struct sheet *sheet, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", sheet->path);
}

/* NULL: error. */
static char *read_all(const char *path, size_t *n, struct error *error)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
    size_t room = 0, got = 1;
    char *text = NULL;
    bool good = true;
    *n = 0;
    if (!file) {
        error_system(error, errno, "cannot read '%s'", path);
        return NULL;
    }
    while (got > 0 && (good = array_grow(&text, *n + 1, &room, 1))) {
        got = fread(text + *n, 1, room - *n - 1, file);
        text[*n += got] = '\0';
    }
    if (!good)
        error_set(error, STATUS_NO_MEMORY, "out of memory for reading '%s'", path);
    else if (ferror(file))
        good = (error_system(error, errno, "cannot read '%s'", path), false);
    if (file != stdin)
        fclose(file);
    if (!good)
        free(text);
    return good ? text : NULL;
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

/* Keeps a copy of the reader's line. */
static bool add_line(struct sheet *sheet, const struct csv_reader *reader)
{
    const size_t n = csv_n_field(reader);
    size_t bytes = n * sizeof(char *);
    for (size_t i = 0; i < n; i++)
        bytes += strlen(csv_field(reader, i)) + 1;
    char **field = arena_alloc(&sheet->arena, bytes);
    if (!field || !array_grow(&sheet->line, sheet->n, &sheet->room, sizeof *sheet->line))
        return false;
    char *to = (char *)(field + n);
    struct line *line = &sheet->line[sheet->n++];
    *line = (struct line){.field = field, .n_field = n, .number = csv_line(reader)};
    for (size_t i = 0; i < n; i++) {
        field[i] = to;
        to = stpcpy(to, csv_field(reader, i)) + 1;
        line->n = *field[i] ? i + 1 : line->n;
        line->n_filled += *field[i] != '\0';
    }
    return true;
}

static enum status split(struct sheet *sheet, struct csv_reader *reader, struct error *error)
{
    bool more = true;
    enum status status = STATUS_OK;
    while (!status && !(status = csv_next_line(reader, &more, error)) && more)
        if (!add_line(sheet, reader))
            status = no_memory(sheet, error);
    return status;
}

static bool is_number(const char *text)
{
    double number;
    return csv_parse_double(text, &number);
}

/* A time, "0:10:00" or "1:29:17 PM". */
static bool is_clock(const char *text)
{
    double hours;
    char copy[24];
    size_t n = strcspn(text, " ");
    bool has_half = !strcasecmp(text + n, " am") || !strcasecmp(text + n, " pm");
    snprintf(copy, sizeof copy, "%.*s", has_half && n < sizeof copy ? (int)n : (int)strlen(text),
             text);
    return import_clock_read(copy, &hours);
}

/* A line with one field, which is not the time of a row whose wells have no values. */
static bool is_title(const struct line *line)
{
    return line->n_filled == 1 && !is_number(line->field[line->n - 1]) &&
           !is_clock(line->field[line->n - 1]);
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

/* Whether --column says that a column of this name is the time. */
static bool is_called_time(const char *name, const struct import_options *options)
{
    static const char time[] = "time=";
    bool found = false;
    for (size_t i = 0; i < options->column.n; i++) {
        const char *item = options->column.item[i];
        bool is_it = !strncasecmp(item, time, sizeof time - 1) &&
                     !strcasecmp(item + sizeof time - 1, name);
        if (is_it && options->found)
            options->found[1 + i] = true;
        found = found || is_it;
    }
    return found;
}

/* A line of names of a block of times: a time, then names. "Time,1:29:17 PM" is none, but says when
 * the plate was read. */
static size_t time_column(const struct line *line, const struct import_options *options)
{
    size_t found = CSV_NO_COLUMN;
    for (size_t j = 0; j < line->n && found == CSV_NO_COLUMN; j++)
        if (is_called_time(line->field[j], options) ||
            (!strncasecmp(line->field[j], "time", 4) && strcspn(line->field[j], " [(:") == 4))
            found = j;
    for (size_t j = 0; j < line->n && found != CSV_NO_COLUMN; j++)
        if (is_clock(line->field[j]))
            return CSV_NO_COLUMN;
    return found;
}

/* A title, or one of several blocks that is a number, a wavelength: "600". */
static bool is_title_at(const struct sheet *sheet, size_t i, size_t n_head,
                        const struct import_options *options)
{
    const struct line *line = &sheet->line[i];
    if (is_title(line) || line->n_filled != 1 || n_head < 2)
        return is_title(line);
    do
        i++;
    while (i < sheet->n && sheet->line[i].n_filled == 0);
    return i < sheet->n && time_column(&sheet->line[i], options) != CSV_NO_COLUMN;
}

/* The observable that a title names, perhaps with a wavelength: "OD600", "OD600:600"; -1: none. */
static int observable_of(const struct line *line, const struct stiffit_model *abi)
{
    char name[NAME_BYTES];
    const char *title = title_of(line);
    int found = import_observable_find(abi, title);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(title, ":"), title);
    return found >= 0 ? found : import_observable_find(abi, name);
}

static void count_line(struct csv_lines *lines, const struct line *line)
{
    if (line->n_filled > 0 && lines->n++ == 0)
        lines->first = line->number;
}

/* Whether a line below the names of a block has no field behind the last of them. */
static enum status check_width(const struct sheet *sheet, const struct line *line,
                               const struct line *head, struct error *error)
{
    if (line->n <= head->n)
        return STATUS_OK;
    size_t j = head->n;
    while (!*line->field[j])
        j++;
    return error_set(error, STATUS_BAD_PROBLEM,
                     "%s:%" PRIu64 ": field %zu, '%.100s', lies behind the last of the %zu columns "
                     "that line %" PRIu64 " names",
                     sheet->path, line->number, j + 1, line->field[j], head->n, head->number);
}

/* A field: `before`, an underscore and the text, or without `before` the text. */
static void put(const struct list *list, const char *before, const char *text, char end)
{
    const char special[] = {list->delimiter, '"', '#', '\n', '\r', '\0'};
    const char *const part[] = {before, *before ? "_" : "", text};
    bool is_quoted = strpbrk(before, special) || strpbrk(text, special);
    if (is_quoted)
        putc('"', list->file);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        for (const char *c = part[i]; *c; c++) {
            if (*c == '"')
                putc('"', list->file);
            putc(*c, list->file);
        }
    if (is_quoted)
        putc('"', list->file);
    putc(end, list->file);
}

/* Puts a field that comes from a line of the sheet. */
static bool put_from(struct list *list, uint64_t line, const char *before, const char *text,
                     char end)
{
    if (!array_grow(&list->line, list->n, &list->room, sizeof *list->line))
        return false;
    list->line[list->n++] = line;
    put(list, before, text, end);
    return true;
}

/* The cells of grids, each a column of wells. */
struct layout {
    struct id_table name, well;
    struct cell {
        uint32_t name, well;
        const char *text;
        uint64_t line;
    } *cell;
    size_t n, room;
};

static enum status take_grid(struct layout *layout, struct sheet *sheet, size_t *at,
                             const char *title, struct error *error)
{
    const struct line *head = &sheet->line[*at];
    const char *corner = head->field[0], *plate = *corner ? title : "";
    uint32_t name = id_table_add(&layout->name, *corner ? corner : *title ? title : "layout");
    bool good = name != ID_NO_MEMORY;
    enum status status = STATUS_OK;
    for (++*at; good && *at < sheet->n && sheet->line[*at].n > 0 &&
                is_letters(sheet->line[*at].field[0]);
         ++*at) {
        const struct line *line = &sheet->line[*at];
        if ((status = check_width(sheet, line, head, error)))
            return status;
        if (line->n_field < head->n)
            count_line(&sheet->cut, line);
        for (size_t j = 1; good && j < head->n; j++) {
            char well[NAME_BYTES];
            snprintf(well, sizeof well, "%.3000s%s%s%zu", plate, *plate ? "_" : "",
                     line->field[0], j);
            struct cell cell = {name, id_table_add(&layout->well, well),
                                j < line->n ? line->field[j] : "", line->number};
            good = cell.well != ID_NO_MEMORY &&
                   array_grow(&layout->cell, layout->n, &layout->room, sizeof *layout->cell);
            if (good)
                layout->cell[layout->n++] = cell;
        }
    }
    return good ? STATUS_OK : no_memory(sheet, error);
}

static enum status take_grids(struct layout *layout, struct sheet *sheet, struct error *error)
{
    const char *title = "";
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < sheet->n;) {
        if (is_grid(sheet, i)) {
            status = take_grid(layout, sheet, &i, title, error);
            continue;
        }
        if (is_title(&sheet->line[i]))
            title = title_of(&sheet->line[i]);
        else
            count_line(&sheet->beside, &sheet->line[i]);
        i++;
    }
    return status;
}

/* The cell of each well and name, and each well's last line. */
static enum status tabulate(const struct layout *layout, const struct sheet *sheet,
                            const struct cell **at, uint64_t *line, struct error *error)
{
    for (size_t i = 0; i < layout->n; i++) {
        const struct cell *cell = &layout->cell[i], **place = NULL;
        place = &at[cell->well * (size_t)layout->name.n + cell->name];
        if (*place)
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: the grids describe '%.100s' of well '%.100s' twice (lines "
                             "%" PRIu64 " and %" PRIu64 "); remove one row or grid, or name "
                             "another column or plate above it",
                             sheet->path, layout->name.id[cell->name],
                             layout->well.id[cell->well], (*place)->line, cell->line);
        *place = cell;
        line[cell->well] = cell->line;
    }
    return STATUS_OK;
}

static enum status write_layout(struct sheet *sheet, struct list *list, struct error *error)
{
    struct layout layout = {.cell = NULL};
    const char d = sheet->delimiter;
    enum status status = take_grids(&layout, sheet, error);
    const size_t n = layout.name.n;
    const struct cell **at = calloc((size_t)layout.well.n * n + 1, sizeof *at);
    uint64_t *line = calloc((size_t)layout.well.n + 1, sizeof *line);
    bool good = at && line;
    if (good && !status)
        status = tabulate(&layout, sheet, at, line, error);
    put(list, "", "dataset", n ? d : '\n');
    for (size_t c = 0; c < n; c++)
        put(list, "", layout.name.id[c], c + 1 < n ? d : '\n');
    for (uint32_t w = 0; good && w < layout.well.n; w++) {
        good = put_from(list, line[w], "", layout.well.id[w], d);
        for (size_t c = 0; good && c < n; c++) {
            const struct cell *cell = at[w * n + c];
            good = put_from(list, cell ? cell->line : line[w], "", cell ? cell->text : "",
                            c + 1 < n ? d : '\n');
        }
    }
    free(at);
    free(line);
    free(layout.cell);
    id_table_fini(&layout.name);
    id_table_fini(&layout.well);
    return good ? status : no_memory(sheet, error);
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

/* A block of times: its line of names, and what they are of. */
struct block {
    const struct line *head; /* NULL: no block has begun */
    size_t time;             /* column */
    bool wells_only;
    const char *observable, *plate; /* observable NULL: none was named yet */
    /* Titles since the block before: how many; whether one is an observable; the last one. */
    size_t n_title;
    bool is_named;
    const struct line *title;
    bool is_beside;           /* below them are lines of something else than a block */
    size_t n_below;           /* titles of plates that stood below the observable's */
    struct id_table left_out; /* names that are no wells, said once in a sheet */
};

/* Forgets the titles above, once a block or other lines have taken them. */
static void end_titles(struct block *block)
{
    block->n_title = 0;
    block->is_named = block->is_beside = false;
}

/* Begins a block: says which columns are not used. false: no memory. */
static bool begin_block(struct block *block, const struct sheet *sheet, const struct line *line,
                        const struct import_options *options)
{
    bool good = true;
    block->head = line;
    block->time = time_column(line, options);
    block->wells_only = has_most_wells(line, block->time);
    end_titles(block);
    for (size_t j = 0; good && j < line->n; j++) {
        const char *name = line->field[j];
        uint32_t n = block->left_out.n;
        if (j == block->time || !*name || !block->wells_only || well_of(name))
            continue;
        good = id_table_add(&block->left_out, name) != ID_NO_MEMORY;
        if (block->left_out.n > n)
            import_say_unused_column(options, sheet->path, name, ": the others are wells");
    }
    return good;
}

/* The measurements of a row. */
static enum status write_row(const struct sheet *sheet, const struct block *block,
                             const struct line *line, struct list *list, struct error *error)
{
    const char d = sheet->delimiter;
    const struct line *head = block->head;
    enum status status = check_width(sheet, line, head, error);
    if (!status && line->n_filled > 0 && line->n_field < head->n)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%s:%" PRIu64 ": there are %zu fields where line %" PRIu64 " names "
                           "%zu columns",
                           sheet->path, line->number, line->n_field, head->number, head->n);
    for (size_t j = 0; !status && j < head->n && j < line->n; j++) {
        const char *name = head->field[j],
                   *time = block->time < line->n ? line->field[block->time] : "";
        if (j == block->time || !*name || (block->wells_only && !well_of(name)) ||
            !*line->field[j])
            continue;
        if (!put_from(list, line->number, block->plate, name, d) ||
            !put_from(list, line->number, "", time, d) ||
            !put_from(list, line->number, "", block->observable ? block->observable : "", d) ||
            !put_from(list, line->number, "", line->field[j], '\n'))
            status = no_memory(sheet, error);
    }
    return status;
}

/* Takes a title: an observable, or a plate. Above a block both may stand, in any order. Titles
 * above other lines, such as a grid, may belong to these lines, and are forgotten. */
static void take_title(struct block *block, const struct line *line,
                       const struct stiffit_model *abi)
{
    const char *title = title_of(line);
    int found = observable_of(line, abi);
    if (block->is_beside)
        end_titles(block);
    if (found >= 0) {
        block->observable = abi->observable_name[found];
        block->n_below = 0;
        block->is_named = true;
    } else {
        block->plate = title;
        block->n_below += block->is_named;
    }
    block->n_title++;
    block->head = NULL;
    block->title = line;
}

/* The observable of a block is named by a title above it. A block with only a plate above it has
 * the observable of the block before it, if there the plate stood below the observable's title;
 * any other title may name a quantity that the model does not observe. Where no title names an
 * observable, the model must have a single one. */
static enum status check_block(const struct block *block, const struct sheet *sheet,
                               const struct line *line, const struct stiffit_model *abi,
                               bool any_is_named, struct error *error)
{
    const bool is_continued =
                   block->observable && block->n_title && block->n_title <= block->n_below,
               is_said = any_is_named && block->n_title;
    if (block->is_named || is_continued || (!is_said && abi->n_observable == 1))
        return STATUS_OK;
    if (is_said)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s:%" PRIu64 ": '%.100s' is no observable of the model, but other blocks "
                         "are below the name of one: write that of this block above it, too, or "
                         "remove the block",
                         sheet->path, block->title->number, title_of(block->title));
    return error_set(error, STATUS_BAD_PROBLEM,
                     "%s:%" PRIu64 ": the model has %u observable%s: above each block of "
                     "wells a line with the name of its observable is needed, such as '%s'",
                     sheet->path, line->number, abi->n_observable, plural(abi->n_observable),
                     abi->observable_name[0]);
}

static enum status write_wells(struct sheet *sheet, const struct stiffit_model *abi,
                               const struct import_options *options, struct list *list,
                               struct error *error)
{
    struct block block = {.plate = ""};
    const char d = sheet->delimiter;
    const char *first = NULL, *last = "";
    enum status status = STATUS_OK;
    bool any_is_named = false;
    size_t n_head = 0;
    fprintf(list->file, "dataset%ctime%cobservable%cvalue\n", d, d, d);
    for (size_t i = 0; i < sheet->n; i++) {
        n_head += time_column(&sheet->line[i], options) != CSV_NO_COLUMN;
        any_is_named = any_is_named || (sheet->line[i].n_filled == 1 &&
                                        observable_of(&sheet->line[i], abi) >= 0);
    }
    for (size_t i = 0; !status && i < sheet->n; i++) {
        const struct line *line = &sheet->line[i];
        if (is_title_at(sheet, i, n_head, options)) {
            take_title(&block, line, abi);
        } else if (time_column(line, options) != CSV_NO_COLUMN) {
            status = check_block(&block, sheet, line, abi, any_is_named, error);
            last = block.plate;
            first = first || !*last ? first : last;
            if (!status && !begin_block(&block, sheet, line, options))
                status = no_memory(sheet, error);
        } else if (block.head) {
            status = write_row(sheet, &block, line, list, error);
        } else {
            count_line(&sheet->beside, line);
            block.is_beside = block.is_beside || line->n_filled > 0;
        }
    }
    id_table_fini(&block.left_out);
    if (!status && !any_is_named && first)
        options->say("note: %.300s: no line above a block is '%.100s', the model's observable: all "
                     "blocks are of it, and the lines above them are plates: '%.100s'%s%.100s%s",
                     sheet->path, abi->observable_name[0], first, first == last ? "" : " to '",
                     first == last ? "" : last, first == last ? "" : "'");
    return status;
}

static void say_lines(const struct sheet *sheet, const struct import_options *options)
{
    const struct { const struct csv_lines *lines; const char *what;
    } notes[] = {{&sheet->beside, "beside the blocks not used"},
                 {&sheet->cut, "of a grid with fewer fields than columns: the wells behind them "
                               "have none"}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].lines->n)
            options->say("note: %.300s: %llu line%s %s, the first is line %llu", sheet->path,
                         (unsigned long long)notes[i].lines->n, plural(notes[i].lines->n),
                         notes[i].what, (unsigned long long)notes[i].lines->first);
}

/* Whether the sheet has grids, or several lines of names, or other lines above the only one, or
 * titles. */
static bool has_blocks(const struct sheet *sheet, enum import_form form,
                       const struct import_options *options)
{
    size_t n_head = 0, n_title = 0, n_above = 0;
    bool found = false;
    for (size_t i = 0; i < sheet->n && !found; i++) {
        found = form == FORM_LAYOUT && is_grid(sheet, i);
        n_above += n_head == 0 && sheet->line[i].n_filled > 0;
        n_title += form == FORM_WELLS && is_title(&sheet->line[i]);
        n_head += form == FORM_WELLS && time_column(&sheet->line[i], options) != CSV_NO_COLUMN;
    }
    return found || n_head > 1 || (n_head == 1 && (n_title > 0 || n_above > 1));
}

/* The sheet as a list, which has its lines' numbers. */
static enum status open_list(struct csv_reader **reader, struct sheet *sheet,
                             const struct csv_reader *lines, enum import_form form,
                             const struct import_options *options,
                             const struct stiffit_model *abi, struct error *error)
{
    char *text = NULL;
    size_t n = 0;
    struct list list = {open_memstream(&text, &n), sheet->delimiter, NULL, 0, 0};
    enum status status = list.file ? STATUS_OK : no_memory(sheet, error);
    if (!status)
        status = form == FORM_LAYOUT ? write_layout(sheet, &list, error)
                                     : write_wells(sheet, abi, options, &list, error);
    if (!status)
        say_lines(sheet, options);
    if (list.file && fclose(list.file) != 0 && !status)
        status = no_memory(sheet, error);
    if (!status)
        status = csv_open_text(reader, sheet->path, text, n, error);
    if (!status)
        csv_set_origin(*reader, lines, list.line, list.n / csv_n_column(*reader));
    else
        free(list.line);
    free(text);
    return status;
}

/* A file that may have blocks. */
static enum status open_text(struct csv_reader **reader, const char *path, enum import_form form,
                             const struct import_options *options,
                             const struct stiffit_model *abi, bool *is_list, struct error *error)
{
    struct csv_reader *lines = NULL;
    struct sheet sheet = {.path = path};
    size_t n;
    char *text = read_all(path, &n, error);
    if (!text)
        return error->status;
    sheet.delimiter = find_delimiter(text);
    enum status status = csv_open_lines(&lines, path, text, n, sheet.delimiter, error);
    if (!status)
        status = split(&sheet, lines, error);
    *is_list = has_blocks(&sheet, form, options);
    if (*is_list && !status)
        status = open_list(reader, &sheet, lines, form, options, abi, error);
    else if (!*is_list && status != STATUS_NO_MEMORY) /* says itself what is wrong */
        status = csv_open_text(reader, path, text, n, error);
    csv_close(lines);
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

enum status import_name_columns(struct csv_reader *reader, const struct import_options *options,
                                struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < options->column.n && !status; i++) {
        const char *item = options->column.item[i], *equals = strchr(item, '=');
        char *name = strndup(item, (size_t)(equals - item));
        bool found = false;
        status = name ? csv_alias(reader, name, equals + 1, &found, error)
                      : error_set(error, STATUS_NO_MEMORY, "out of memory for the columns");
        if (found && options->found)
            options->found[1 + i] = true;
        free(name);
    }
    return status;
}

enum status import_open(struct csv_reader **reader, const char *path, enum import_form form,
                        const struct import_options *options, const struct stiffit_model *abi,
                        bool *is_changed, struct error *error)
{
    bool changed = false;
    *reader = NULL;
    enum status status = form == FORM_TABLE
                             ? csv_open(reader, path, error)
                             : open_text(reader, path, form, options, abi, &changed, error);
    if (is_changed)
        *is_changed = changed;
    if (!status)
        csv_set_missing(*reader, options->missing.item, options->missing.n);
    if (!status)
        status = import_name_columns(*reader, options, error);
    if (!status && !changed && options->id && form != FORM_WELLS) {
        status = csv_join(*reader, "dataset", options->id, '_', error);
        if (!status && options->found && has_first(*reader, options->id))
            options->found[0] = true;
    }
    return status;
}
