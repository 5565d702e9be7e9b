/* The list of options of a manual page in mdoc(7), made from the table: the pages under man/ hold it, and a test compares.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include <ctype.h>

/* Text as mdoc takes it: backslashes escaped, no line beginning with a dot or an apostrophe. */
static void print_text(FILE *file, const char *text, bool capital)
{
    bool begins = true;
    if (capital && *text)
        fputc(toupper((unsigned char)*text++), file);
    for (const char *c = text; *c; c++) {
        if (begins && (*c == '.' || *c == '\''))
            fputs("\\&", file);
        begins = *c == '\n';
        fputs(*c == '\\' ? "\\e" : "", file);
        if (*c != '\\')
            fputc(*c, file);
    }
}

void help_mdoc(FILE *file, const struct command *command)
{
    for (const struct command *const *child = command->child; child && *child; child++) {
        fprintf(file, ".Ss stiffit %s\n", (*child)->name);
        help_mdoc(file, *child);
    }
    if (command->child)
        return;
    struct option_table table = command->table();
    fputs(".Bl -tag -width Ds\n", file);
    for (size_t i = 0; i < table.n; i++) {
        const struct option *option = &table.option[i];
        const char *metavar = option_metavar(option);
        fputs(".It ", file);
        if (option->letter)
            fprintf(file, "Fl %c , ", option->letter);
        fprintf(file, "Fl Fl %s", option->name);
        if (metavar)
            fprintf(file, " Ar %s", metavar);
        fputc('\n', file);
        print_text(file, option->help, true);
        fputs(".\n", file);
        if (option->default_text) {
            fputs("Default: ", file);
            print_text(file, option->default_text, false);
            fputs(".\n", file);
        }
    }
    fputs(".It Fl h , Fl Fl help\nShow the options and exit.\n.El\n", file);
}
