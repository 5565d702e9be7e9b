/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/help_text.h"

#include "base/words.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 96, INDENT = 30 };

/* Writes words, broken at blanks so that no line exceeds WIDTH. The first line begins at
 * `column`, the others at `indent`. Ends the line. */
static void print_wrapped(FILE *file, const char *text, int column, int indent)
{
    while (*text) {
        int n = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + n > WIDTH) {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", n, text);
        column += n;
        text += n;
        if (*text == '\n') {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
        }
        if (*text)
            text++;
    }
    fputc('\n', file);
}

static void print_option(FILE *file, const struct option *option)
{
    char head[240], text[600], metavar[OPTION_METAVAR];
    const char *blank = option->kind == OPTION_FLAG ? "" : " ";
    int n = snprintf(head, sizeof head, "  %c%c%s --%s%s%s", option->letter ? '-' : ' ',
                     option->letter ? option->letter : ' ', option->letter ? "," : " ",
                     option->name, blank, option_metavar(option, metavar));
    fputs(head, file);
    if (n >= INDENT - 1) {
        fputc('\n', file);
        n = 0;
    }
    fprintf(file, "%*s", INDENT - n, "");
    snprintf(text, sizeof text, "%s%s%s%s", option->help, option->default_text ? " (default: " : "",
             option->default_text ? option->default_text : "", option->default_text ? ")" : "");
    print_wrapped(file, text, INDENT, INDENT);
}

static void print_children(FILE *file, const struct command *family)
{
    fputs("\nCommands:\n", file);
    for (const struct command *const *child = family->child; *child; child++) {
        fprintf(file, "  %-10s", (*child)->name + strlen(family->name) + 1);
        print_wrapped(file, (*child)->summary, 12, 12);
    }
    fprintf(file, "\n`stiffit %s COMMAND --help` shows the options of a command.\n", family->name);
}

void help_command(FILE *file, const struct command *command)
{
    fprintf(file, "Example:\n  ");
    for (const char *c = command->example; *c; c++) {
        fputc(*c, file);
        if (*c == '\n')
            fputs("  ", file);
    }
    fprintf(file, "\n\nUsage: stiffit %s%s%s%s\n\n", command->name,
            command->child ? "" : " [OPTIONS]", *command->synopsis ? " " : "", command->synopsis);
    print_wrapped(file, command->description, 0, 0);
    if (command->child) {
        print_children(file, command);
        return;
    }
    fputs("\nOptions:\n", file);
    struct option_table table = command_table(command);
    for (size_t i = 0; i < table.n; i++)
        print_option(file, &table.option[i]);
    static const struct option help = {.name = "help",
                                       .letter = 'h', .kind = OPTION_FLAG,
                                       .help = "show this help"};
    print_option(file, &help);
}

void help_overview(FILE *file, const struct command *const *commands)
{
    fputs("Example:\n  stiffit import wells.csv --model decay.ode -o wells.h5\n  stiffit run "
          "wells.h5\n\n"
          "Usage: stiffit COMMAND [OPTIONS] ...\n\n"
          "stiffit fits one stiff ODE model to many independent datasets.\n\nCommands:\n",
          file);
    for (const struct command *const *command = commands; *command; command++) {
        fprintf(file, "  %-11s", (*command)->name);
        print_wrapped(file, (*command)->summary, 13, 13);
    }
    fputs("\n`stiffit COMMAND --help` shows the options of a command; `stiffit --version` shows "
          "all versions;\n"
          "`man stiffit-recipes` answers frequent questions by commands.\n\n"
          "Exit codes: 0 success; 1 some fits did not converge; 2 usage error; 3 bad problem or "
          "model;\n"
          "4 file or system error; 5 a bug; 75 stopped early, the same command resumes.\n",
          file);
}

/* Text for mdoc(7): backslashes escaped, no line begins with a dot or an apostrophe. */
static void print_mdoc_text(FILE *file, const char *text, bool capital)
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
    struct option_table table = command_table(command);
    fputs(".Bl -tag -width Ds\n", file);
    for (size_t i = 0; i < table.n; i++) {
        const struct option *option = &table.option[i];
        char metavar[OPTION_METAVAR];
        fputs(".It ", file);
        if (option->letter)
            fprintf(file, "Fl %c , ", option->letter);
        fprintf(file, "Fl Fl %s", option->name);
        if (option->kind != OPTION_FLAG)
            fprintf(file, " Ar %s", option_metavar(option, metavar));
        fputc('\n', file);
        print_mdoc_text(file, option->help, true);
        fputs(".\n", file);
        if (option->default_text) {
            fputs("Default: ", file);
            print_mdoc_text(file, option->default_text, false);
            fputs(".\n", file);
        }
    }
    fputs(".It Fl h , Fl Fl help\nShow the options and exit.\n.El\n", file);
}
