/* Reading, checking and replacing the list of trusted code.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/trust.h"

#include "io/file/durable.h"
#include "model/build/shared_object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_LIST = 16 << 20 };

static void find_place(char path[PATH_MAX])
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n = 0;
    if (base && base[0] == '/') /* the specification says to ignore relative paths */
        n = snprintf(path, PATH_MAX, "%s/stiffit/trusted", base);
    else if (home && home[0] == '/')
        n = snprintf(path, PATH_MAX, "%s/.config/stiffit/trusted", home);
    if (n <= 0 || n >= PATH_MAX)
        path[0] = '\0';
}

static enum status check_owner(const struct stat *about, const char *path, struct error *error)
{
    if (about->st_uid == geteuid() && (about->st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return STATUS_OK;
    return error_set(error, STATUS_SYSTEM,
                     "%s is not used, because other users can write to it: check it, then "
                     "chown it to yourself and chmod go-w it (--trust trusts for one run without "
                     "it)",
                     path);
}

/* Reads the whole file into list->text; NULL if there is none. */
static enum status read_text(struct trust_list *list, struct error *error)
{
    char folder[DURABLE_PATH];
    struct stat about;
    size_t done = 0;
    int file = open(list->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && (errno == ENOENT || errno == ENOTDIR))
        return STATUS_OK;
    if (file < 0)
        return error_system(error, errno, "cannot read the list of trusted models %s", list->path);
    enum status status = destination_parent(list->path, folder, error);
    if (!status && stat(folder, &about) != 0)
        status = error_system(error, errno, "cannot look at %s", folder);
    if (!status)
        status = check_owner(&about, folder, error);
    if (!status && fstat(file, &about) != 0)
        status = error_system(error, errno, "cannot look at %s", list->path);
    if (!status)
        status = check_owner(&about, list->path, error);
    if (!status && (!S_ISREG(about.st_mode) || about.st_size > MAX_LIST))
        status =
            error_set(error, STATUS_SYSTEM, "%s: this is not a list of trusted models", list->path);
    if (!status && !(list->text = malloc((size_t)about.st_size + 1)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %s", list->path);
    while (!status && done < (size_t)about.st_size) {
        ssize_t n = read(file, list->text + done, (size_t)about.st_size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status =
                error_system(error, errno, "cannot read the list of trusted models %s", list->path);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (list->text)
        list->text[done] = '\0';
    close(file);
    return status;
}

/* Splits the line in place; false: it is not an entry. */
static bool take_line(char *line, struct trust_entry *entry)
{
    unsigned char digest[SHA256_BYTES];
    static const char nothing[] = "";
    char *rest = line + strcspn(line, " ");
    if (*rest)
        *rest++ = '\0';
    if (!sha256_from_hex(line, digest))
        return false;
    sha256_hex(digest, entry->sha256);
    entry->date = rest;
    rest += strcspn(rest, " ");
    entry->origin = *rest ? rest + 1 : nothing;
    *rest = '\0';
    return true;
}

enum status trust_read(struct trust_list *list, struct error *error)
{
    size_t n_line = 1, number = 0;
    *list = (struct trust_list){.n = 0};
    find_place(list->path);
    enum status status = list->path[0] ? read_text(list, error) : STATUS_OK;
    if (status || !list->text)
        return status;
    for (const char *c = list->text; *c; c++)
        n_line += *c == '\n';
    list->entry = calloc(n_line, sizeof *list->entry);
    if (!list->entry)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %s", list->path);
    for (char *line = list->text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        number++;
        if (*line == '\0' || *line == '#')
            continue;
        if (!take_line(line, &list->entry[list->n]))
            return error_set(error, STATUS_SYSTEM,
                             "%s: line %zu does not begin with a SHA-256: correct or remove it",
                             list->path, number);
        list->n++;
    }
    return STATUS_OK;
}

void trust_fini(struct trust_list *list)
{
    free(list->text);
    free(list->entry);
    *list = (struct trust_list){.n = 0};
}

bool trust_has(const struct trust_list *list, const char *sha256)
{
    for (size_t i = 0; i < list->n; i++)
        if (!strcasecmp(list->entry[i].sha256, sha256))
            return true;
    return false;
}

enum status trust_check_links(const void *bytes, size_t n_byte, const char *origin,
                              struct error *error)
{
    struct elf_links links;
    struct error ignored;
    if (elf_image_check(bytes, n_byte, origin, &ignored)) /* the loader will say what it is */
        return STATUS_OK;
    elf_image_links(bytes, n_byte, &links);
    if (!links.relative[0])
        return STATUS_OK;
    return error_set(error, STATUS_BAD_MODEL,
                     "%s: it loads a library from the relative path '%s', so its SHA-256 does not "
                     "say what runs: link the library statically or by an absolute path (--trust "
                     "and --model run it all the same)",
                     origin, links.relative);
}

static enum status make_folder(const char *path, struct error *error)
{
    char folder[DURABLE_PATH];
    enum status status = destination_parent(path, folder, error);
    for (char *slash = folder + 1; !status; slash++) {
        if (*slash && *slash != '/')
            continue;
        char kept = *slash;
        *slash = '\0';
        int number = mkdir(folder, 0700) == 0 ? 0 : errno;
        if (number && access(folder, F_OK) != 0)
            return error_system(error, number,
                                "cannot make the directory %s (set XDG_CONFIG_HOME to another "
                                "place; --trust trusts for one run without it)",
                                folder);
        *slash = kept;
        if (!kept)
            break;
    }
    return status;
}

/* Omits characters that would end the line. */
static void print_entry(FILE *file, const char *sha256, const char *date, const char *origin)
{
    fprintf(file, "%s %s ", sha256, date);
    for (const char *c = origin; *c; c++)
        fputc((unsigned char)*c < ' ' || *c == 127 ? '?' : *c, file);
    fputc('\n', file);
}

/* The list without `removed` and with `added` (either may be NULL). */
static enum status replace(const struct trust_list *list, const char *removed, const char *added,
                           const char *origin, struct error *error)
{
    char *text = NULL, date[32] = "-";
    size_t n_byte = 0;
    time_t now = time(NULL);
    struct tm utc;
    if (!list->path[0])
        return error_set(error, STATUS_SYSTEM,
                         "there is no place for a list of trusted models: neither HOME nor "
                         "XDG_CONFIG_HOME is set to an absolute path");
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    enum status status = make_folder(list->path, error);
    if (status)
        return status;
    FILE *file = open_memstream(&text, &n_byte);
    for (size_t i = 0; file && i < list->n; i++)
        if (!removed || strcasecmp(list->entry[i].sha256, removed))
            print_entry(file, list->entry[i].sha256, list->entry[i].date, list->entry[i].origin);
    if (file && added)
        print_entry(file, added, date, origin);
    bool complete = file && fflush(file) == 0 && !ferror(file);
    if (file)
        fclose(file);
    status = complete ? durable_write(list->path, 0600, text, n_byte, error)
                      : error_set(error, STATUS_NO_MEMORY,
                                  "out of memory for the list of trusted models");
    free(text);
    return status;
}

enum status trust_add(const struct trust_list *list, const char *sha256, const char *origin,
                      struct error *error)
{
    return replace(list, sha256, sha256, origin, error);
}

enum status trust_remove(const struct trust_list *list, const char *sha256, struct error *error)
{
    return replace(list, sha256, NULL, NULL, error);
}
