/* dlopen and what is around it: private copies of a plugin's bytes, and the loader's messages in
 * the user's terms. The bytes are looked at before the loader sees them: it is said in the
 * user's words what a wrong file is, and a truncated object, which the loader would map and die
 * of, is turned away.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/build/shared_object.h"

#include "base/destination.h"
#include "base/floating.h"
#include "base/signals.h"
#include "base/words.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<elf.h>)
#include <elf.h>
#define HAVE_ELF 1
#endif
#endif

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && strcmp(name + n - m, suffix) == 0;
}

#define COMPILE_LINE "cc -std=c11 -O3 -march=native -fPIC -shared -I INCLUDE -o MODEL.so MODEL.c " \
    "-lm"

static bool starts_with(const void *bytes, size_t n_byte, const char *magic, size_t n_magic)
{
    return n_byte >= n_magic && memcmp(bytes, magic, n_magic) == 0;
}

static bool is_text(const void *bytes, size_t n_byte)
{
    return !memchr(bytes, 0, n_byte < 512 ? n_byte : 512);
}

static enum status refuse(const char *origin, const char *what, struct error *error)
{
    return error_set(error, STATUS_BAD_MODEL, "%s: this is %s", origin, what);
}

/* Anything but ELF. */
static enum status describe_other(const void *bytes, size_t n_byte, const char *origin,
                                  struct error *error)
{
    if (has_suffix(origin, ".ode"))
        return refuse(origin,
                      "model text, not a compiled plugin; give its path, or put it into a problem "
                      "file as /model/source",
                      error);
    if (has_suffix(origin, ".c") || has_suffix(origin, ".cc") || has_suffix(origin, ".cpp"))
        return refuse(origin,
                      "source code, not a compiled plugin; compile it and give the "
                      ".so: " COMPILE_LINE,
                      error);
    if (starts_with(bytes, n_byte, "\211HDF\r\n\032\n", 8))
        return refuse(origin, "an HDF5 file, not a model (text, .ode, or a plugin, .so)", error);
    if (starts_with(bytes, n_byte, "!<arch>\n", 8))
        return refuse(origin,
                      "a static library, not a shared object; link with -shared: " COMPILE_LINE,
                      error);
    if (n_byte == 0)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: the file is empty; compile the model again: " COMPILE_LINE, origin);
    if (is_text(bytes, n_byte))
        return refuse(origin,
                      "a text file, not a shared object; if it is model text (man 5 "
                      "stiffit-model), give it a name "
                      "that ends in .ode",
                      error);
    return refuse(origin,
                  "some other kind of file, not a shared object; compile the model: " COMPILE_LINE,
                  error);
}

#ifdef HAVE_ELF
#if UINTPTR_MAX > 0xffffffffu
typedef Elf64_Ehdr file_header;
typedef Elf64_Phdr program_header;
typedef Elf64_Dyn dynamic_entry;
enum { NATIVE_CLASS = ELFCLASS64 };
#else
typedef Elf32_Ehdr file_header;
typedef Elf32_Phdr program_header;
typedef Elf32_Dyn dynamic_entry;
enum { NATIVE_CLASS = ELFCLASS32 };
#endif

#if defined(__x86_64__)
enum { NATIVE_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { NATIVE_MACHINE = EM_AARCH64 };
#elif defined(__powerpc64__)
enum { NATIVE_MACHINE = EM_PPC64 };
#elif defined(__i386__)
enum { NATIVE_MACHINE = EM_386 };
#else
enum { NATIVE_MACHINE = -1 };
#endif
enum { NATIVE_ORDER = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB };

static const char *machine_name(int machine)
{
    switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_386: return "32-bit x86";
    case EM_AARCH64: return "64-bit ARM";
    case EM_ARM: return "32-bit ARM";
    case EM_PPC64: return "64-bit POWER";
    case EM_S390: return "s390";
    default: return "another";
    }
}

static enum status truncated(size_t n_byte, const char *origin, struct error *error)
{
    return error_set(error, STATUS_BAD_MODEL,
                     "%s: the shared object is truncated or damaged (it has %zu bytes, and its "
                     "headers describe more); "
                     "compile or copy it again",
                     origin, n_byte);
}

static enum status check_segments(const unsigned char *bytes, size_t n_byte,
                                  const file_header *header, const char *origin,
                                  struct error *error)
{
    if (header->e_phentsize != sizeof(program_header) || header->e_phnum == 0 ||
        header->e_phoff > n_byte ||
        (size_t)header->e_phnum * sizeof(program_header) > n_byte - header->e_phoff)
        return truncated(n_byte, origin, error);
    for (size_t i = 0; i < header->e_phnum; i++) {
        program_header segment;
        memcpy(&segment, bytes + header->e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_LOAD &&
            (segment.p_offset > n_byte || segment.p_filesz > n_byte - segment.p_offset))
            return truncated(n_byte, origin, error);
    }
    return STATUS_OK;
}

enum status elf_image_check(const void *bytes, size_t n_byte, const char *origin,
                            struct error *error)
{
    if (!starts_with(bytes, n_byte, ELFMAG, SELFMAG))
        return describe_other(bytes, n_byte, origin, error);
    file_header header;
    if (n_byte < sizeof header)
        return truncated(n_byte, origin, error);
    memcpy(&header, bytes, sizeof header);
    if (header.e_ident[EI_DATA] != NATIVE_ORDER || header.e_ident[EI_CLASS] != NATIVE_CLASS ||
        (NATIVE_MACHINE >= 0 && header.e_machine != NATIVE_MACHINE)) {
        bool swapped = header.e_ident[EI_DATA] != NATIVE_ORDER;
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: this shared object was compiled for %s machine (this one is %s); "
                         "compile it here: " COMPILE_LINE,
                         origin, swapped ? "another" : machine_name(header.e_machine),
                         machine_name(NATIVE_MACHINE));
    }
    if (header.e_type == ET_REL)
        return refuse(origin,
                      "an object file, not a shared object; link it with -shared: " COMPILE_LINE,
                      error);
    if (header.e_type != ET_DYN)
        return refuse(origin,
                      "an executable or a core file, not a shared object; compile the "
                      "model: " COMPILE_LINE,
                      error);
    return check_segments(bytes, n_byte, &header, origin, error);
}

/* A span of the file; length 0: there is none. */
struct span {
    size_t at, length;
};

/* The segment of this type, or of type PT_LOAD the one that holds the address. */
static struct span find_segment(const unsigned char *bytes, size_t n_byte, uint32_t type,
                                size_t address)
{
    file_header header;
    memcpy(&header, bytes, sizeof header);
    for (size_t i = 0; i < header.e_phnum; i++) {
        program_header segment;
        memcpy(&segment, bytes + header.e_phoff + i * sizeof segment, sizeof segment);
        bool is_within = segment.p_offset <= n_byte &&
                         segment.p_filesz <= n_byte - segment.p_offset;
        if (segment.p_type != type || !is_within)
            continue;
        if (type != PT_LOAD)
            return (struct span){segment.p_offset, segment.p_filesz};
        if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
            return (struct span){segment.p_offset + (address - segment.p_vaddr),
                                 segment.p_filesz - (address - segment.p_vaddr)};
    }
    return (struct span){0, 0};
}

/* Each folder of a list, an empty one being the working directory. $ORIGIN is the folder of our
 * private copy, where nothing can be. */
static void add_paths(struct elf_links *links, const char *path, bool is_list)
{
    words_add(links->paths, sizeof links->paths, "%s%s", links->paths[0] ? "; " : "", path);
    for (const char *at = path;;) {
        size_t n = is_list ? strcspn(at, ":") : strlen(at);
        bool is_absolute = *at == '/' || !strncmp(at, "$ORIGIN", 7) || !strncmp(at, "${ORIGIN}", 9);
        if (!is_absolute && !links->relative[0])
            snprintf(links->relative, sizeof links->relative, "%.*s", n ? (int)n : 1, n ? at : ".");
        if (!is_list || !at[n])
            return;
        at += n + 1;
    }
}

void elf_image_links(const void *image, size_t n_byte, struct elf_links *links)
{
    const unsigned char *bytes = image;
    struct span entries = find_segment(bytes, n_byte, PT_DYNAMIC, 0), names = {0, 0};
    dynamic_entry entry;
    *links = (struct elf_links){.paths = ""};
    size_t n = entries.length / sizeof entry;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++) {
            memcpy(&entry, bytes + entries.at + i * sizeof entry, sizeof entry);
            if (entry.d_tag == DT_NULL)
                break;
            if (pass == 0 && entry.d_tag == DT_STRTAB)
                names = find_segment(bytes, n_byte, PT_LOAD, entry.d_un.d_ptr);
            bool is_list = entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH;
            bool is_name = is_list || entry.d_tag == DT_NEEDED || entry.d_tag == DT_AUXILIARY ||
                           entry.d_tag == DT_FILTER || entry.d_tag == DT_AUDIT ||
                           entry.d_tag == DT_DEPAUDIT;
            if (pass == 0 || !is_name || entry.d_un.d_val >= names.length)
                continue;
            const char *name = (const char *)bytes + names.at + entry.d_un.d_val;
            if (memchr(name, 0, names.length - entry.d_un.d_val) && (is_list || strchr(name, '/')))
                add_paths(links, name, is_list);
        }
}
#else
void elf_image_links(const void *bytes, size_t n_byte, struct elf_links *links)
{
    (void)bytes, (void)n_byte;
    *links = (struct elf_links){.paths = ""};
}

enum status elf_image_check(const void *bytes, size_t n_byte, const char *origin,
                            struct error *error)
{
    if (n_byte == 0 || is_text(bytes, n_byte) || starts_with(bytes, n_byte, "\211HDF\r\n\032\n", 8))
        return describe_other(bytes, n_byte, origin, error);
    return STATUS_OK;
}
#endif

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

struct shared_object {
    void *handle;
    int fd;        /* the anonymous file, or -1 */
    char name[32]; /* the name under which dlopen opens the anonymous file */
};

static struct shared_object *object_new(struct error *error)
{
    struct shared_object *object = calloc(1, sizeof *object);
    if (!object)
        error_set(error, STATUS_NO_MEMORY, "out of memory while loading a shared object");
    else
        object->fd = -1;
    return object;
}

/* The loader's message without the name of our private copy. */
static const char *loader_message(const char *name)
{
    const char *message = dlerror();
    if (!message)
        return "unknown reason";
    size_t n = strlen(name);
    if (strncmp(message, name, n) == 0 && message[n] == ':')
        message += n + 1 + strspn(message + n + 1, " ");
    return message;
}

static bool cannot_map(const char *message)
{
    return strstr(message, "cannot open") || strstr(message, "failed to map segment");
}

static enum status load_failed(const char *origin, const char *message, struct error *error)
{
    const char *advice = "";
    /* glibc refuses an executable stack since version 2.41. */
    if (strstr(message, "executable stack"))
        advice = "; link it with -Wl,-z,noexecstack, or, as tcc cannot, use another compiler "
                 "(CC=gcc)";
    else if (strstr(message, "undefined symbol"))
        advice = "; compile all of the model's source files into one .so, and link with -lm";
    else if (cannot_map(message))
        advice = "; if the temporary directory is mounted noexec, set TMPDIR to one that is not";
    return error_set(error, STATUS_BAD_MODEL, "%s: cannot load this shared object: %s%s", origin,
                     message, advice);
}

/* Constructors may change what all of the process depends on: the folder that relative paths are
 * in, the permissions of new files, the language of numbers, what happens at a signal. And code
 * linked with -ffast-math makes the loading thread, and all threads that this one starts, flush
 * subnormal numbers to zero. */
static void *load(const char *name)
{
    int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *language = setlocale(LC_ALL, NULL);
    mode_t mask = umask(077);
    struct signals signals;
    umask(mask);
    signals_keep(&signals);
    language = language ? strdup(language) : NULL;
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    signals_restore(&signals);
    floating_reset();
    umask(mask);
    if (language)
        setlocale(LC_ALL, language);
    free(language);
    if (folder < 0)
        return handle;
    if (fchdir(folder) != 0 && handle) {
        dlclose(handle);
        handle = NULL;
    }
    close(folder);
    return handle;
}

static enum status write_all(int fd, const char *bytes, size_t n_byte, struct error *error)
{
    for (size_t done = 0; done < n_byte;) {
        ssize_t n = write(fd, bytes + done, n_byte - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_system(error, n < 0 ? errno : ENOSPC,
                                "cannot make a private copy of the model plugin");
        done += (size_t)n;
    }
    return STATUS_OK;
}

/* An anonymous file that can be opened by name; -1: the system has none. */
static int anonymous_file(void)
{
#ifdef MFD_CLOEXEC
    int fd = memfd_create("stiffit-model", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    if (fd < 0 &&
        errno ==
            EINVAL) /* a kernel older than MFD_EXEC, where memory files are executable anyway */
        fd = memfd_create("stiffit-model", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd;
#else
    return -1;
#endif
}

/* glibc distinguishes objects by name first: a descriptor's number must not be used again while
 * an object of that name is loaded. So the file stays open as long as the object lives.
 * *unusable: this way does not work on this system. */
static enum status open_anonymous(struct shared_object *object, const void *bytes, size_t n_byte,
                                  const char *origin, bool *unusable, struct error *error)
{
    *unusable = true;
    object->fd = anonymous_file();
    if (object->fd < 0)
        return STATUS_SYSTEM;
    snprintf(object->name, sizeof object->name, "/proc/self/fd/%d", object->fd);
    if (access(object->name, R_OK) != 0)
        return STATUS_SYSTEM;
    enum status status = write_all(object->fd, bytes, n_byte, error);
    if (status != STATUS_OK)
        return status;
#ifdef F_ADD_SEALS
    (void)fcntl(object->fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
#endif
    object->handle = load(object->name);
    if (object->handle) {
        *unusable = false;
        return STATUS_OK;
    }
    const char *message = loader_message(object->name);
    *unusable = cannot_map(message);
    return load_failed(origin, message, error);
}

static enum status open_in_directory(struct shared_object *object, const void *bytes, size_t n_byte,
                                     const char *origin, struct error *error)
{
    char directory[DESTINATION_PATH], path[DESTINATION_PATH + 20];
    const char *parent = getenv("TMPDIR");
    if (!parent || !*parent)
        parent = "/tmp";
    if (!destination_scratch(parent, "stiffit-model", directory))
        return error_system(error, errno,
                            "cannot make a private directory for the model plugin in %s", parent);
    snprintf(path, sizeof path, "%s/model.so", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    enum status status = fd < 0 ? error_system(error, errno, "cannot create %s", path)
                                : write_all(fd, bytes, n_byte, error);
    if (!status && !(object->handle = load(path)))
        status = load_failed(origin, loader_message(path), error);
    if (fd >= 0)
        close(fd);
    unlink(path);
    rmdir(directory);
    return status;
}

void *shared_object_open_bytes(const void *bytes, size_t n_byte, const char *origin,
                               struct error *error)
{
    struct shared_object *object = object_new(error);
    if (!object)
        return NULL;
    bool unusable;
    enum status status = open_anonymous(object, bytes, n_byte, origin, &unusable, error);
    if (status != STATUS_OK && unusable) {
        if (object->fd >= 0)
            close(object->fd);
        object->fd = -1;
        status = open_in_directory(object, bytes, n_byte, origin, error);
    }
    if (status == STATUS_OK)
        return object;
    shared_object_close(object);
    return NULL;
}

void *shared_object_open(const char *name, struct error *error)
{
    struct shared_object *object = object_new(error);
    if (!object)
        return NULL;
    object->handle = load(name);
    if (object->handle)
        return object;
    error_set(error, STATUS_SYSTEM, "cannot load the library %s: %s", name, loader_message(name));
    free(object);
    return NULL;
}

void *shared_object_symbol(void *handle, const char *name)
{
    return dlsym(((struct shared_object *)handle)->handle, name);
}

void shared_object_close(void *handle)
{
    struct shared_object *object = handle;
    if (!object)
        return;
    bool stays = false;
    if (object->handle) {
        dlclose(object->handle);
        /* Some objects are never unloaded (unique C++ symbols, -z nodelete): their name stays in
         * use, and so must the descriptor. */
        void *again = object->fd >= 0 ? dlopen(object->name, RTLD_NOW | RTLD_NOLOAD) : NULL;
        stays = again != NULL;
        if (again)
            dlclose(again);
    }
    if (object->fd >= 0 && !stays)
        close(object->fd);
    free(object);
}

void shared_object_leave(void *handle) { free(handle); }
