/* Recognises a file given as a model by its name, first words and headers, without loading it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/build/kind.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && strcmp(name + n - m, suffix) == 0;
}

/* Whether the word at `text` is followed by a blank. */
static bool begins_with_word(const char *text, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - text) > n && memcmp(text, word, n) == 0 && (text[n] == ' ' || text[n] == '\t');
}

/* Whether a statement begins with the word: at the beginning, after a line's end or a semicolon, outside comments. */
static bool has_statement(const char *text, const char *end, const char *word)
{
    while (text < end) {
        while (text < end && (*text == ' ' || *text == '\t'))
            text++;
        if (begins_with_word(text, end, word))
            return true;
        while (text < end && *text != '\n' && *text != ';') {
            bool comment = *text == '#' || (*text == '/' && text + 1 < end && text[1] == '/');
            while (comment && text + 1 < end && text[1] != '\n')
                text++;
            text++;
        }
        text++;
    }
    return false;
}

bool kind_is_model_text(const void *bytes, size_t n_byte, const char *name)
{
    static const char *const other[] = {".c", ".h", ".cc", ".cpp", ".so", ".h5"};
    const char *text = bytes, *end = text + n_byte;
    if (n_byte >= 4 && memcmp(bytes, "\177ELF", 4) == 0)
        return false;
    if (has_suffix(name, ".ode"))
        return true;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (has_suffix(name, other[i]))
            return false;
    if (n_byte == 0 || memchr(bytes, 0, n_byte))
        return false;
    return has_statement(text, end, "observe") &&
           (has_statement(text, end, "parameter") || has_statement(text, end, "par"));
}

bool kind_text_is_named(const char *text, size_t n_byte) { return has_statement(text, text + n_byte, "model"); }

#if defined(__has_include)
#if __has_include(<elf.h>)
#include <elf.h>
#define HAVE_ELF 1
#endif
#endif

#define COMPILE_LINE "cc -std=c11 -O3 -march=native -fPIC -shared -I INCLUDE -o MODEL.so MODEL.c -lm"

static bool starts_with(const void *bytes, size_t n_byte, const char *magic, size_t n_magic)
{
    return n_byte >= n_magic && memcmp(bytes, magic, n_magic) == 0;
}

static bool is_text(const void *bytes, size_t n_byte) { return !memchr(bytes, 0, n_byte < 512 ? n_byte : 512); }

static enum status refuse(const char *origin, const char *what, struct error *error)
{
    return error_set(error, STATUS_BAD_MODEL, "%s: this is %s", origin, what);
}

/* Describes anything but ELF. */
static enum status describe_other(const void *bytes, size_t n_byte, const char *origin, struct error *error)
{
    if (has_suffix(origin, ".ode"))
        return refuse(origin, "model text, not a compiled plugin; give its path, or put it into a problem file as "
                      "/model/source", error);
    if (has_suffix(origin, ".c") || has_suffix(origin, ".cc") || has_suffix(origin, ".cpp"))
        return refuse(origin, "source code, not a compiled plugin; compile it and give the .so: " COMPILE_LINE, error);
    if (starts_with(bytes, n_byte, "\211HDF\r\n\032\n", 8))
        return refuse(origin, "an HDF5 file, not a model (text, .ode, or a plugin, .so)", error);
    if (starts_with(bytes, n_byte, "!<arch>\n", 8))
        return refuse(origin, "a static library, not a shared object; link with -shared: " COMPILE_LINE, error);
    if (n_byte == 0)
        return error_set(error, STATUS_BAD_MODEL, "%s: the file is empty; compile the model anew: " COMPILE_LINE, origin);
    if (is_text(bytes, n_byte))
        return refuse(origin, "a text file, not a shared object; if it is model text (man 5 stiffit-model), let its name "
                      "end in .ode", error);
    return refuse(origin, "some other kind of file, not a shared object; compile the model: " COMPILE_LINE, error);
}

#ifdef HAVE_ELF
#if UINTPTR_MAX > 0xffffffffu
typedef Elf64_Ehdr file_header;
typedef Elf64_Phdr program_header;
enum { NATIVE_CLASS = ELFCLASS64 };
#else
typedef Elf32_Ehdr file_header;
typedef Elf32_Phdr program_header;
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
                     "%s: the shared object is truncated or damaged (%zu bytes are there and its headers speak of "
                     "more); compile or copy it again", origin, n_byte);
}

static enum status check_segments(const unsigned char *bytes, size_t n_byte, const file_header *header,
                                  const char *origin, struct error *error)
{
    if (header->e_phentsize != sizeof(program_header) || header->e_phnum == 0 || header->e_phoff > n_byte ||
        (size_t)header->e_phnum * sizeof(program_header) > n_byte - header->e_phoff)
        return truncated(n_byte, origin, error);
    for (size_t i = 0; i < header->e_phnum; i++) {
        program_header segment;
        memcpy(&segment, bytes + header->e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_LOAD && (segment.p_offset > n_byte || segment.p_filesz > n_byte - segment.p_offset))
            return truncated(n_byte, origin, error);
    }
    return STATUS_OK;
}

enum status elf_image_check(const void *bytes, size_t n_byte, const char *origin, struct error *error)
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
                         "%s: this shared object was compiled for %s machine (this one is %s); compile it here: "
                         COMPILE_LINE, origin, swapped ? "another" : machine_name(header.e_machine),
                         machine_name(NATIVE_MACHINE));
    }
    if (header.e_type == ET_REL)
        return refuse(origin, "an object file, not a shared object; link it with -shared: " COMPILE_LINE, error);
    if (header.e_type != ET_DYN)
        return refuse(origin, "an executable or a core file, not a shared object; compile the model: " COMPILE_LINE, error);
    return check_segments(bytes, n_byte, &header, origin, error);
}
#else
enum status elf_image_check(const void *bytes, size_t n_byte, const char *origin, struct error *error)
{
    if (n_byte == 0 || is_text(bytes, n_byte) || starts_with(bytes, n_byte, "\211HDF\r\n\032\n", 8))
        return describe_other(bytes, n_byte, origin, error);
    return STATUS_OK;
}
#endif
