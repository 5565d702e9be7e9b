/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/completion.h"

#include <string.h>

static void print_options(FILE *file, const struct command *command)
{
    struct option_table table = command_table(command);
    for (size_t i = 0; i < table.n; i++)
        fprintf(file, "--%s ", table.option[i].name);
    fputs("--help", file);
}

/* The words that may follow an option: one case branch per kind of value. */
static void print_bash_values(FILE *file, const struct command *command)
{
    struct option_table table = command_table(command);
    for (const struct command *const *child = command->child; child && *child; child++)
        print_bash_values(file, *child);
    for (size_t i = 0; i < table.n; i++) {
        const struct option *option = &table.option[i];
        if (option->kind == OPTION_FLAG)
            continue;
        fprintf(file, "        \"%s:\"--%s", command->name, option->name);
        if (option->letter)
            fprintf(file, "|\"%s:\"-%c", command->name, option->letter);
        fputs(") ", file);
        if (option->kind == OPTION_CHOICE) {
            fputs("COMPREPLY=($(compgen -W '", file);
            for (const char *const *word = option->choice; *word; word++)
                fprintf(file, "%s%s", word == option->choice ? "" : " ", *word);
            fputs("' -- \"$word\")); return ;;\n", file);
        } else if (option->is_file) {
            fputs("COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", file);
        } else {
            fputs("return ;;\n", file);
        }
    }
}

static void print_bash_options(FILE *file, const struct command *command)
{
    for (const struct command *const *child = command->child; child && *child; child++)
        print_bash_options(file, *child);
    fprintf(file, "        \"%s:\"-*) COMPREPLY=($(compgen -W '", command->name);
    print_options(file, command);
    fputs("' -- \"$word\")) ;;\n", file);
}

/* Prints the second part of each name in a family, which is either recognised or completed. */
static void print_names(FILE *file, const struct command *family)
{
    for (const struct command *const *child = family->child; child && *child; child++)
        fprintf(file, "%s%s", child == family->child ? "" : " ",
                (*child)->name + strlen(family->name) + 1);
}

static void print_bash_families(FILE *file, const struct command *const *commands)
{
    for (const struct command *const *command = commands; *command; command++) {
        if (!(*command)->child)
            continue;
        fprintf(file,
                "    if [ \"$command\" = %s ]; then\n        if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
                "            COMPREPLY=($(compgen -W '",
                (*command)->name);
        print_names(file, *command);
        fputs(" --help' -- \"$word\"))\n            return\n        fi\n"
              "        command=\"$command ${COMP_WORDS[2]}\"\n    fi\n", file);
    }
}

void completion_bash(FILE *file, const struct command *const *commands)
{
    fputs("# bash completion for stiffit; made by `stiffit help --completion bash`\n"
          "_stiffit() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
          "command=${COMP_WORDS[1]}\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          file);
    for (const struct command *const *command = commands; *command; command++)
        fprintf(file, "%s ", (*command)->name);
    fputs("--help --version' -- \"$word\"))\n        return\n    fi\n", file);
    print_bash_families(file, commands);
    fputs("    case \"$command:$before\" in\n", file);
    for (const struct command *const *command = commands; *command; command++)
        print_bash_values(file, *command);
    fputs("    esac\n    case \"$command:$word\" in\n", file);
    for (const struct command *const *command = commands; *command; command++)
        print_bash_options(file, *command);
    fputs("        help:*) COMPREPLY=($(compgen -W '", file);
    for (const struct command *const *command = commands; *command; command++)
        fprintf(file, "%s ", (*command)->name);
    fputs("' -- \"$word\")) ;;\n"
          "        *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
          "    esac\n}\ncomplete -o filenames -F _stiffit stiffit\n", file);
}

/* In _arguments' specifications brackets and colons are special, and the whole text is in
 * apostrophes. */
static void print_zsh_text(FILE *file, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\'')
            fputs("'\\''", file);
        else {
            if (strchr("[]:\\", *c))
                fputc('\\', file);
            fputc(*c, file);
        }
    }
}

static void print_zsh_option(FILE *file, const struct option *option)
{
    for (int pass = option->letter ? 0 : 1; pass < 2; pass++) {
        bool value = option->kind != OPTION_FLAG;
        if (pass == 0)
            fprintf(file, "                '%s-%c%s[", option->kind == OPTION_LIST ? "*" : "",
                    option->letter, value ? "+" : "");
        else
            fprintf(file, "                '%s--%s%s[", option->kind == OPTION_LIST ? "*" : "",
                    option->name, value ? "=" : "");
        print_zsh_text(file, option->help);
        fputc(']', file);
        if (value) {
            char metavar[OPTION_METAVAR];
            fputc(':', file);
            print_zsh_text(file, option_metavar(option, metavar));
            fputc(':', file);
        }
        if (option->kind == OPTION_CHOICE) {
            fputc('(', file);
            for (const char *const *word = option->choice; *word; word++)
                fprintf(file, "%s%s", word == option->choice ? "" : " ", *word);
            fputc(')', file);
        } else if (option->is_file) {
            fputs("_files", file);
        }
        fputs("' \\\n", file);
    }
}

static void print_zsh_command(FILE *file, const struct command *command)
{
    for (const struct command *const *child = command->child; child && *child; child++)
        print_zsh_command(file, *child);
    struct option_table table = command_table(command);
    fprintf(file, "        \"%s\")\n            _arguments -s \\\n", command->name);
    for (size_t i = 0; i < table.n; i++)
        print_zsh_option(file, &table.option[i]);
    fputs("                '(- *)--help[show the options]' \\\n                '*:file:_files' "
          ";;\n",
          file);
}

static void print_zsh_families(FILE *file, const struct command *const *commands)
{
    for (const struct command *const *command = commands; *command; command++) {
        if (!(*command)->child)
            continue;
        fprintf(file,
                "    if [[ $command == %s ]]; then\n        if (( CURRENT == 2 )); then\n          "
                "  compadd ",
                (*command)->name);
        print_names(file, *command);
        fputs("\n            return\n        fi\n        command=\"$command $words[2]\"\n        "
              "shift words\n"
              "        (( CURRENT-- ))\n    fi\n",
              file);
    }
}

void completion_zsh(FILE *file, const struct command *const *commands)
{
    fputs("#compdef stiffit\n# zsh completion for stiffit; made by `stiffit help --completion "
          "zsh`\n"
          "_stiffit() {\n    local -a commands\n    commands=(\n",
          file);
    for (const struct command *const *command = commands; *command; command++) {
        fprintf(file, "        '%s:", (*command)->name);
        print_zsh_text(file, (*command)->summary);
        fputs("'\n", file);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        "
          "return\n    fi\n"
          "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n",
          file);
    print_zsh_families(file, commands);
    fputs("    case $command in\n", file);
    for (const struct command *const *command = commands; *command; command++)
        print_zsh_command(file, *command);
    fputs("    esac\n}\n_stiffit \"$@\"\n", file);
}

/* Within apostrophes. */
static void print_fish_text(FILE *file, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (strchr("'\\", *c))
            fputc('\\', file);
        fputc(*c, file);
    }
}

/* The beginning of a line that offers something after these words; is_family: right after them. */
static void print_fish_start(FILE *file, const char *words, bool is_family)
{
    const char *more = is_family ? "; and test (count (commandline -opc)) -eq 2" : "";
    fprintf(file, "complete -c stiffit -n '__stiffit_is %s%s' ", words, more);
}

static void print_fish_option(FILE *file, const struct command *command,
                              const struct option *option)
{
    print_fish_start(file, command->name, command->child != NULL);
    fprintf(file, "-l %s ", option->name);
    if (option->letter)
        fprintf(file, "-s %c ", option->letter);
    if (option->kind == OPTION_CHOICE) {
        fputs("-x -a '", file);
        for (const char *const *word = option->choice; *word; word++)
            fprintf(file, "%s%s", word == option->choice ? "" : " ", *word);
        fputs("' ", file);
    } else if (option->kind != OPTION_FLAG) {
        fputs(option->is_file ? "-r -F " : "-x ", file);
    }
    fputs("-d '", file);
    print_fish_text(file, option->help);
    fputs("'\n", file);
}

static void print_fish_command(FILE *file, const struct command *command)
{
    for (const struct command *const *child = command->child; child && *child; child++) {
        print_fish_start(file, command->name, command->child != NULL);
        fprintf(file, "-f -a %s -d '", (*child)->name + strlen(command->name) + 1);
        print_fish_text(file, (*child)->summary);
        fputs("'\n", file);
        print_fish_command(file, *child);
    }
    struct option_table table = command_table(command);
    for (size_t i = 0; i < table.n; i++)
        print_fish_option(file, command, &table.option[i]);
    print_fish_start(file, command->name, command->child != NULL);
    fputs("-l help -s h -d 'show the options'\n", file);
}

void completion_fish(FILE *file, const struct command *const *commands)
{
    fputs("# fish completion for stiffit; made by `stiffit help --completion fish`\n"
          "# Whether the line so far begins with these words, or with no word that could be a "
          "command.\n"
          "function __stiffit_is\n"
          "    set -l words (commandline -opc)\n"
          "    set -l n (count $argv)\n"
          "    if test $n -eq 0\n"
          "        test (count $words) -eq 1\n"
          "        return\n"
          "    end\n"
          "    set -l last (math $n + 1)\n"
          "    test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
          "end\n",
          file);
    for (const struct command *const *command = commands; *command; command++) {
        for (int is_help = 0; is_help < 2; is_help++) {
            print_fish_start(file, is_help ? "help" : "", false);
            fprintf(file, "-f -a %s -d '", (*command)->name);
            print_fish_text(file, (*command)->summary);
            fputs("'\n", file);
        }
    }
    for (const struct command *const *command = commands; *command; command++)
        print_fish_command(file, *command);
}
