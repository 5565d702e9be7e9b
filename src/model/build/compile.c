/* Runs the compiler as a child process in a private temporary folder, captures its output, and
 * tries its flags from the best to the plainest.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/build/compile.h"

#include "base/destination.h"
#include "model/build/shared_object.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FOLDER_SIZE = DESTINATION_PATH, FOLDER_FILE_SIZE = FOLDER_SIZE + 40 };

/* Makes a folder under $TMPDIR that only we may enter. `folder` is empty after a failure.
 * STATUS_SYSTEM. */
static enum status folder_make(char folder[FOLDER_SIZE], struct error *error)
{
    char parent[PATH_MAX];
    folder[0] = '\0';
    const char *wanted = getenv("TMPDIR");
    if (!wanted || !*wanted)
        wanted = "/tmp";
    if (!realpath(wanted, parent))
        return error_system(error, errno,
                            "cannot use the folder for temporary files %s (set TMPDIR to use "
                            "another)",
                            wanted);
    if (destination_scratch(parent, "stiffit-build", folder))
        return STATUS_OK;
    return error_system(error, errno,
                        "cannot make a folder in %s for compiling a model (set TMPDIR to use "
                        "another)",
                        parent);
}

/* Removes the files that we know, without allocating memory; only a killed compiler leaves
 * others. */
static void folder_remove(const char *folder)
{
    static const char *const known[] = {"model.c",         "model.so", "words.txt", "version.txt",
                                        "stiffit/model.h", "stiffit",  ""};
    char path[FOLDER_FILE_SIZE];
    if (!folder[0])
        return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, known[i]);
        remove(path);
    }
    destination_scratch_remove(folder);
}

static enum status folder_write(const char *folder, const char *name, const char *bytes,
                                size_t n_byte, struct error *error)
{
    char path[FOLDER_FILE_SIZE];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wxe");
    bool written = file && fwrite(bytes, 1, n_byte, file) == n_byte;
    if (file && fclose(file) == 0 && written)
        return STATUS_OK;
    return error_system(error, errno, "cannot write %s (set TMPDIR to use another folder)", path);
}

/* At most `max` bytes of a file in the folder and a NUL; free them. NULL: no such file, or no
 * memory. */
static char *folder_read(const char *folder, const char *name, size_t max, size_t *n_byte)
{
    char path[FOLDER_FILE_SIZE];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rbe");
    char *bytes = NULL;
    if (file && fstat(fileno(file), &about) == 0) {
        size_t n = (uintmax_t)about.st_size < max ? (size_t)about.st_size : max;
        bytes = malloc(n + 1);
        if (bytes) {
            *n_byte = fread(bytes, 1, n, file);
            bytes[*n_byte] = '\0';
        }
    }
    if (file)
        fclose(file);
    return bytes;
}

extern char **environ;

enum { WORDS_KEPT = 1200, MAX_FLAG = 12 };
enum { MAX_ARGUMENT = COMPILER_MAX_WORD + MAX_FLAG + 12, MAX_COMPILED = 256 << 20 };

/* Tried in turn as long as the compiler rejects a flag. gcc 12's assembly shows that without
 * -fno-math-errno a square root may call a function, and without -fno-trapping-math a choice
 * becomes a jump instead of a blend. Contraction would make the bits depend on the compiler (gcc
 * with -std=c11 does not contract, clang partly does). The flag for this CPU is -march=native on
 * x86 and for newer compilers on ARM, -mcpu=native elsewhere. */
static const struct attempt {
    bool native;
    const char *flag[MAX_FLAG];
} attempts[] = {
    {true,
     {"-std=c11", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math",
      "-ffp-contract=off", "-fPIC", "-shared"}},
    {true,
     {"-std=c11", "-O3", "-mcpu=native", "-fno-math-errno", "-fno-trapping-math",
      "-ffp-contract=off", "-fPIC", "-shared"}},
    {false,
     {"-std=c11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fPIC",
      "-shared"}},
    {false, {"-std=c11", "-O2", "-fPIC", "-shared"}},
};
enum { N_ATTEMPT = sizeof attempts / sizeof *attempts };

struct job {
    const struct compiler *compiler;
    const struct compile_request *request;
    struct build_wait *wait;
    char folder[FOLDER_SIZE];
    char **environment;
};

void built_fini(struct built *built)
{
    free(built->bytes);
    free(built->compiler);
    *built = (struct built){.bytes = NULL};
}

static enum status write_sources(const struct job *job, struct error *error)
{
    char path[FOLDER_FILE_SIZE];
    snprintf(path, sizeof path, "%s/stiffit", job->folder);
    if (mkdir(path, 0700))
        return error_system(error, errno, "cannot make the directory %s", path);
    enum status status = folder_write(job->folder, "stiffit/model.h", compile_model_header,
                                      strlen(compile_model_header), error);
    return status ? status
                  : folder_write(job->folder, "model.c", job->request->source, job->request->n_byte,
                                 error);
}

/* Our environment, but in English, and with our folder for the compiler's temporary files, which
 * are removed with it. */
static bool make_environment(struct job *job)
{
    static const char *const changed[] = {"LC_ALL=", "TMPDIR="};
    size_t n = 0, size = sizeof "LC_ALL=C" + sizeof "TMPDIR=" + FOLDER_SIZE;
    for (char **entry = environ; *entry; entry++)
        n++;
    job->environment = malloc((n + 3) * sizeof *job->environment + size);
    if (!job->environment)
        return false;
    char *text = (char *)(job->environment + n + 3);
    n = 0;
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, changed[0], strlen(changed[0])) &&
            strncmp(*entry, changed[1], strlen(changed[1])))
            job->environment[n++] = *entry;
    job->environment[n++] = strcpy(text, "LC_ALL=C");
    job->environment[n++] = strcpy(text + sizeof "LC_ALL=C", "TMPDIR=");
    strcat(text + sizeof "LC_ALL=C", job->folder);
    job->environment[n] = NULL;
    return true;
}

/* Starts it in a process group of its own, so that it can be killed with everything it starts;
 * without our signal settings. */
static int start(const struct job *job, char *const *arguments, const char *output, pid_t *child)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    int failure = posix_spawn_file_actions_init(&files);
    if (failure)
        return failure;
    if ((failure = posix_spawnattr_init(&attributes))) {
        posix_spawn_file_actions_destroy(&files);
        return failure;
    }
    failure = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!failure)
        failure =
            posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!failure)
        failure = posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    if (!failure)
        failure =
            posix_spawnp(child, arguments[0], &files, &attributes, arguments, job->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failure;
}

/* Runs the compiler with `flags` between its name and the user's options, which therefore
 * prevail. Its output goes into `output`. */
static enum status run(const struct job *job, const char *const *flags, size_t n_flag,
                       const char *output, int *wait_status, struct error *error)
{
    const char *arguments[MAX_ARGUMENT];
    char path[FOLDER_FILE_SIZE], line[300];
    pid_t child;
    size_t n = 0, n_head = compiler_n_head(job->compiler);
    for (size_t i = 0; i < n_head; i++)
        arguments[n++] = job->compiler->word[i];
    for (size_t i = 0; i < n_flag; i++)
        arguments[n++] = flags[i];
    for (size_t i = n_head; i < job->compiler->n_word; i++)
        arguments[n++] = job->compiler->word[i];
    arguments[n] = NULL;
    snprintf(path, sizeof path, "%s/%s", job->folder, output);
    snprintf(line, sizeof line, "compiling the model %.100s with %.100s", job->request->origin,
             arguments[0]);
    int failure = start(job, (char *const *)(uintptr_t)arguments, path, &child);
    if (failure)
        return error_system(error, failure, "cannot start the C compiler %s", arguments[0]);
    for (;;) {
        pid_t gone = waitpid(child, wait_status, WNOHANG);
        if (gone == child)
            return STATUS_OK;
        if (gone < 0 && errno != EINTR)
            return error_system(error, errno, "lost the C compiler %s", arguments[0]);
        if (!wait_ms(job->wait, 100)) {
            kill(-child, SIGKILL);
            waitpid(child, wait_status, 0);
            return error_set(error, STATUS_STOPPED,
                             "stopped by a signal while the model %s was being compiled",
                             job->request->origin);
        }
        wait_tell_if_long(job->wait, line);
    }
}

static bool is_for_cpu(const char *flag)
{
    return !strcmp(flag, "-march=native") || !strcmp(flag, "-mcpu=native");
}

/* Whether the compiler's message mentions a flag of attempt `k`, so that a plainer one should be
 * tried. */
static bool blames_flag(const char *words, int k)
{
    static const char *const general[] = {"unrecognized",   "unknown argument",   "unknown option",
                                          "invalid option", "unsupported option", "not supported"};
    for (size_t i = 0; i < sizeof general / sizeof *general; i++)
        if (strstr(words, general[i]))
            return true;
    for (const char *const *flag = attempts[k].flag; *flag; flag++)
        if ((is_for_cpu(*flag) || !strncmp(*flag, "-f", 2)) && strstr(words, *flag + 1))
            return true;
    return false;
}

/* Removes our folder's name and unprintable characters from the compiler's first lines. */
static void tidy(char *words, const char *folder)
{
    size_t n_folder = strlen(folder);
    char *out = words;
    for (const char *in = words; *in && out - words < WORDS_KEPT; in++) {
        if (!strncmp(in, folder, n_folder) && in[n_folder] == '/')
            in += n_folder;
        else if ((unsigned char)*in >= ' ' || *in == '\n' || *in == '\t')
            *out++ = *in;
    }
    *out = '\0';
    while (out > words && out[-1] == '\n')
        *--out = '\0';
}

/* A full disk makes compilers fail with various messages, or none. */
static bool is_full(const char *folder)
{
    enum { ENOUGH = 256 << 10 };
    struct statvfs room;
    return statvfs(folder, &room) == 0 && (uint64_t)room.f_bavail * room.f_frsize < ENOUGH;
}

static enum status compiler_failed(const struct job *job, int wait_status, const char *words,
                                   struct error *error)
{
    char how[100];
    if (is_full(job->folder))
        return error_set(error, STATUS_SYSTEM,
                         "%s: the C compiler %s failed, and almost no room is left for its files "
                         "beside %s: free some, or let TMPDIR name another place",
                         job->request->origin, job->compiler->word[0], job->folder);
    if (WIFSIGNALED(wait_status))
        snprintf(how, sizeof how, "signal %d (%s)%s", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)),
                 WTERMSIG(wait_status) == SIGKILL ? ", perhaps sent because memory was short" : "");
    else
        snprintf(how, sizeof how, "exit code %d", WEXITSTATUS(wait_status));
    return error_set(error, STATUS_BAD_MODEL,
                     "%s: the C compiler failed (%s: %s); is the C library's development package "
                     "installed (Debian: libc6-dev)? Set CC to use another compiler.%s%s",
                     job->request->origin, job->compiler->word[0], how,
                     *words ? " Its output:\n" : "", words);
}

static void append(char *text, const char *word) { strcat(strcat(text, *text ? " " : ""), word); }

/* "gcc (Debian 12.2.0-14) 12.2.0: gcc -std=c11 -O3 ..."; NULL: out of memory. */
static char *describe(const struct job *job, const char *const *flag)
{
    static const char *const ask[] = {"--version"};
    const struct compiler *compiler = job->compiler;
    struct error ignored;
    int wait_status;
    size_t n_read = 0, size = 300, n_head = compiler_n_head(compiler);
    char *said = NULL, *text;
    if (!run(job, ask, 1, "version.txt", &wait_status, &ignored) && WIFEXITED(wait_status) &&
        WEXITSTATUS(wait_status) == 0)
        said = folder_read(job->folder, "version.txt", 200, &n_read);
    for (size_t i = 0; i < compiler->n_word; i++)
        size += strlen(compiler->word[i]) + 1;
    for (const char *const *f = flag; *f; f++)
        size += strlen(*f) + 1;
    text = calloc(size, 1);
    if (text) {
        size_t n = 0;
        for (const char *c = said; c && (unsigned char)*c >= ' '; c++)
            if ((unsigned char)*c < 127)
                text[n++] = *c;
        if (n > 0)
            text[n] = ':';
        for (size_t i = 0; i < n_head; i++)
            append(text, compiler->word[i]);
        for (const char *const *f = flag; *f; f++)
            append(text, *f);
        for (size_t i = n_head; i < compiler->n_word; i++)
            append(text, compiler->word[i]);
    }
    free(said);
    return text;
}

static enum status attempt(const struct job *job, int k, bool *again, struct built *built,
                           struct error *error)
{
    char include[FOLDER_FILE_SIZE], output[FOLDER_FILE_SIZE], source[FOLDER_FILE_SIZE];
    const char *flags[MAX_ARGUMENT];
    const char *own[MAX_FLAG + 1] = {NULL}; /* the flags that are reported */
    size_t n = 0, n_word = 0;
    int wait_status;
    for (const char *const *flag = attempts[k].flag; *flag; flag++)
        flags[n] = own[n] = *flag, n++;
    snprintf(include, sizeof include, "-I%s", job->folder);
    snprintf(output, sizeof output, "%s/model.so", job->folder);
    snprintf(source, sizeof source, "%s/model.c", job->folder);
    const char *const rest[] = {include, "-o", output, source, "-lm"};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        flags[n++] = rest[i];
    *again = false;
    enum status status = run(job, flags, n, "words.txt", &wait_status, error);
    if (status)
        return status;
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
        char *words = folder_read(job->folder, "words.txt", 65536, &n_word);
        *again = WIFEXITED(wait_status) && words && blames_flag(words, k);
        if (words)
            tidy(words, job->folder);
        status = compiler_failed(job, wait_status, words ? words : "", error);
        free(words);
        return status;
    }
    built->bytes = folder_read(job->folder, "model.so", MAX_COMPILED, &built->n_byte);
    if (!built->bytes || built->n_byte == 0)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: the C compiler %s reported no error, but wrote no plugin to %s",
                         job->request->origin, job->compiler->word[0], job->folder);
    /* a full disk, a strange $CC */
    status = elf_image_check(built->bytes, built->n_byte, "model.so", error);
    if (status)
        return error_context(error, "%s: the output of the C compiler %s cannot be used",
                             job->request->origin, job->compiler->word[0]);
    built->compiler = describe(job, own);
    return built->compiler ? STATUS_OK
                           : error_set(error, STATUS_NO_MEMORY, "out of memory after compiling %s",
                                       job->request->origin);
}

enum status compile_plugin(const struct compiler *compiler, const struct compile_request *request,
                           struct build_wait *wait, struct built *built, struct error *error)
{
    struct job job = {.compiler = compiler, .request = request, .wait = wait};
    bool again = true;
    *built = (struct built){.bytes = NULL};
    enum status status = folder_make(job.folder, error);
    if (!status && !make_environment(&job))
        status =
            error_set(error, STATUS_NO_MEMORY, "out of memory for compiling %s", request->origin);
    if (!status)
        status = write_sources(&job, error);
    if (!status) {
        for (int k = 0; again && k < N_ATTEMPT; k++)
            if (!attempts[k].native || !request->portable)
                status = attempt(&job, k, &again, built, error);
    }
    folder_remove(job.folder);
    free(job.environment);
    if (status)
        built_fini(built);
    return status;
}
