/* A library for LD_PRELOAD that lets the k-th call of a function fail, or ends the process there. Tests build it and run
 * the program with it (tests/e2e/faults.py). Calls are counted for each kind of process (by argv[1], or by the name of a
 * forked child) in a file that all of them share, so that counts go on over a child that is started again.
 *   SHIM_COUNTS   file of N_PROCESS x N_CALL counts (uint64), for which SHIM_NAMES tells the order
 *   SHIM_FAULT    PROCESS CALL K HOW: K counts from 1; HOW is `once ERRNO`, `ever ERRNO`, or `kill` before the call, `half`
 *                 in the middle of a write, `after` it; `all` kills the group of processes before the call
 *   SHIM_ANY=1    calls of libraries count too, not the program's own alone (HDF5 is one, also where it is linked into it)
 *   SHIM_CLOCK=1  the time of day jumps by hours, to and fro
 *   SHIM_HASTE=1  in the computing process every look at the clock finds it a fifth of a second later than it is, so that
 *                 whatever is done from time to time is done each time
 * SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLS(X) X(write) X(pwrite) X(read) X(pread) X(fsync) X(rename) X(open) X(fopen) X(opendir) X(mkdir) X(unlink) \
    X(ftruncate) X(mmap) X(malloc) X(calloc) X(realloc) X(strdup) X(pthread_create) X(posix_spawn) X(fork) X(dlopen) X(flock) \
    X(memfd_create)

enum call {
#define X(name) CALL_##name,
    CALLS(X)
#undef X
    N_CALL
};
static const char *const call_name[] = {
#define X(name) #name,
    CALLS(X)
#undef X
};
static const char *const process_name[] = {"run", "__compute", "__finish"};
enum { N_PROCESS = 3, ONCE, EVER, KILL, HALF, AFTER, ALL };

static _Atomic uint64_t *counts; /* of this kind of process; NULL: nothing is counted */
static uintptr_t text_begin, text_end, text_offset; /* of the program itself; of its text from where it is loaded */
static int bad_call = -1, how, bad_errno;
static uint64_t bad_k;
static int any_caller;

static int find_text(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            text_offset = info->dlpi_phdr[i].p_vaddr;
            text_begin = info->dlpi_addr + text_offset;
            text_end = text_begin + info->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the first object is the program */
}

/* The program ends where HDF5 begins, if its archive is linked into it: at the first symbol with such a name. */
static void leave_out_hdf5(void)
{
    int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC);
    size_t size = file < 0 ? 0 : (size_t)lseek(file, 0, SEEK_END);
    const char *bytes = (const char *)syscall(SYS_mmap, NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    syscall(SYS_close, file);
    if (bytes == MAP_FAILED)
        return;
    const ElfW(Ehdr) *head = (const void *)bytes;
    const ElfW(Shdr) *section = (const void *)(bytes + head->e_shoff);
    uintptr_t at_0 = text_begin - text_offset;
    for (int i = 0; i < head->e_shnum; i++) {
        const ElfW(Sym) *symbol = (const void *)(bytes + section[i].sh_offset);
        const char *names = bytes + section[section[i].sh_link].sh_offset;
        for (size_t k = 0; section[i].sh_type == SHT_SYMTAB && k < section[i].sh_size / sizeof *symbol; k++)
            if (symbol[k].st_shndx && !strncmp(names + symbol[k].st_name, "H5", 2) &&
                !strstr(names + symbol[k].st_name, ".cold") && at_0 + symbol[k].st_value > text_begin &&
                at_0 + symbol[k].st_value < text_end)
                text_end = at_0 + symbol[k].st_value;
    }
    syscall(SYS_munmap, bytes, size);
}

/* By the name that a forked child gives itself. */
static int kind_of_child(const char *name)
{
    for (int i = 1; i < N_PROCESS; i++)
        if (!strncmp(name, "stiffit-", 8) && !strcmp(name + 8, process_name[i] + 2))
            return i;
    return -1;
}

static int kind_of_process(void)
{
    char line[4096];
    int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : syscall(SYS_read, file, line, sizeof line - 1);
    if (file >= 0)
        syscall(SYS_close, file);
    if (n <= 0)
        return -1;
    line[n] = '\0';
    const char *base = strrchr(line, '/');
    if (strcmp(base ? base + 1 : line, "stiffit"))
        return -1; /* a C compiler, ... */
    for (int i = 0; i < N_PROCESS; i++)
        if ((ssize_t)strlen(line) + 1 < n && !strcmp(line + strlen(line) + 1, process_name[i]))
            return i;
    return -1;
}

static int hurries;

static void begin_as(int kind)
{
    hurries = kind == 1 && getenv("SHIM_HASTE");
    char process[20] = "", call[20] = "", way[20] = "";
    const char *path = getenv("SHIM_COUNTS"), *fault = getenv("SHIM_FAULT");
    int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    any_caller = getenv("SHIM_ANY") != NULL;
    dl_iterate_phdr(find_text, NULL);
    if (kind < 0 || file < 0)
        return;
    leave_out_hdf5();
    void *memory = (void *)syscall(SYS_mmap, NULL, N_PROCESS * N_CALL * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED,
                                   file, 0);
    syscall(SYS_close, file);
    if (memory == MAP_FAILED)
        return;
    if (fault && sscanf(fault, "%19s %19s %lu %19s %d", process, call, &bad_k, way, &bad_errno) >= 4 &&
        !strcmp(process, process_name[kind]))
        for (int i = 0; i < N_CALL; i++)
            if (!strcmp(call, call_name[i]))
                bad_call = i;
    how = !strcmp(way, "once") ? ONCE : !strcmp(way, "ever") ? EVER : !strcmp(way, "half") ? HALF
          : !strcmp(way, "after") ? AFTER : !strcmp(way, "all") ? ALL : KILL;
    counts = (_Atomic uint64_t *)memory + kind * N_CALL;
}

__attribute__((constructor)) static void begin(void) { begin_as(kind_of_process()); }

int prctl(int option, ...)
{
    unsigned long argument[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        argument[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_NAME && kind_of_child((const char *)argument[0]) >= 0) {
        counts = NULL;
        bad_call = -1;
        begin_as(kind_of_child((const char *)argument[0]));
    }
    return (int)syscall(SYS_prctl, option, argument[0], argument[1], argument[2], argument[3]);
}

static void die(void)
{
    syscall(SYS_kill, how == ALL ? 0 : getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Whether this call fails, with errno set. *last: it is the one after which the process is to die. */
static int fails(enum call call, void *caller, int *last)
{
    uintptr_t at = (uintptr_t)caller;
    *last = 0;
    if (!counts || (!any_caller && (at < text_begin || at >= text_end)))
        return 0;
    uint64_t k = atomic_fetch_add(&counts[call], 1) + 1;
    if ((int)call != bad_call || (how == EVER ? k < bad_k : k != bad_k))
        return 0;
    if (how == KILL || how == ALL)
        die();
    *last = how == HALF || how == AFTER;
    errno = *last ? 0 : bad_errno;
    return !*last;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAULT(call, failure) \
    int last; \
    if (fails(CALL_##call, __builtin_return_address(0), &last)) \
        return failure
#define RETURN(type, call) \
    type result = call; \
    if (last) \
        die(); \
    return result

ssize_t write(int file, const void *bytes, size_t n)
{
    FAULT(write, -1);
    if (last && how == HALF)
        n /= 2;
    RETURN(ssize_t, syscall(SYS_write, file, bytes, n));
}

ssize_t pwrite(int file, const void *bytes, size_t n, off_t at)
{
    FAULT(pwrite, -1);
    if (last && how == HALF)
        n /= 2;
    RETURN(ssize_t, syscall(SYS_pwrite64, file, bytes, n, at));
}

ssize_t pwrite64(int file, const void *bytes, size_t n, off_t at) __attribute__((alias("pwrite")));

ssize_t read(int file, void *bytes, size_t n)
{
    FAULT(read, -1);
    RETURN(ssize_t, syscall(SYS_read, file, bytes, n));
}

ssize_t pread(int file, void *bytes, size_t n, off_t at)
{
    FAULT(pread, -1);
    RETURN(ssize_t, syscall(SYS_pread64, file, bytes, n, at));
}

ssize_t pread64(int file, void *bytes, size_t n, off_t at) __attribute__((alias("pread")));

int fsync(int file)
{
    FAULT(fsync, -1);
    RETURN(int, (int)syscall(SYS_fsync, file));
}

int rename(const char *from, const char *to)
{
    FAULT(rename, -1);
    RETURN(int, (int)syscall(SYS_rename, from, to));
}

#define OPEN(name, folder, leading, ...) \
    int name(leading const char *path, int flags, ...) \
    { \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list list; \
            va_start(list, flags); \
            mode = va_arg(list, mode_t); \
            va_end(list); \
        } \
        FAULT(open, -1); \
        RETURN(int, (int)syscall(SYS_openat, folder, path, flags, mode)); \
    }
#define ONE int folder,
OPEN(open, AT_FDCWD, )
OPEN(open64, AT_FDCWD, )
OPEN(openat, folder, ONE)
OPEN(openat64, folder, ONE)

FILE *fopen(const char *path, const char *mode)
{
    FAULT(fopen, NULL);
    RETURN(FILE *, REAL(fopen)(path, mode));
}

DIR *opendir(const char *path)
{
    FAULT(opendir, NULL);
    RETURN(DIR *, REAL(opendir)(path));
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    FAULT(rename, -1);
    RETURN(int, (int)syscall(SYS_renameat, from_folder, from, to_folder, to));
}

int mkdir(const char *path, mode_t mode)
{
    FAULT(mkdir, -1);
    RETURN(int, (int)syscall(SYS_mkdir, path, mode));
}

int unlink(const char *path)
{
    FAULT(unlink, -1);
    RETURN(int, (int)syscall(SYS_unlink, path));
}

int unlinkat(int folder, const char *path, int flags)
{
    FAULT(unlink, -1);
    RETURN(int, (int)syscall(SYS_unlinkat, folder, path, flags));
}

int ftruncate(int file, off_t n)
{
    FAULT(ftruncate, -1);
    RETURN(int, (int)syscall(SYS_ftruncate, file, n));
}

int ftruncate64(int file, off_t n) __attribute__((alias("ftruncate")));

void *mmap(void *where, size_t n, int protection, int flags, int file, off_t at)
{
    FAULT(mmap, MAP_FAILED);
    RETURN(void *, (void *)syscall(SYS_mmap, where, n, protection, flags, file, at));
}

void *mmap64(void *where, size_t n, int protection, int flags, int file, off_t at) __attribute__((alias("mmap")));

#ifdef __GLIBC__
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

void *malloc(size_t n)
{
    FAULT(malloc, NULL);
    RETURN(void *, __libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    FAULT(calloc, NULL);
    RETURN(void *, __libc_calloc(n, size));
}

void *realloc(void *old, size_t n)
{
    FAULT(realloc, NULL);
    RETURN(void *, __libc_realloc(old, n));
}

void *aligned_alloc(size_t alignment, size_t n)
{
    FAULT(malloc, NULL);
    RETURN(void *, REAL(aligned_alloc)(alignment, n));
}

char *strdup(const char *text)
{
    FAULT(strdup, NULL);
    size_t n = strlen(text) + 1;
    char *copy = __libc_malloc(n);
    RETURN(char *, copy ? memcpy(copy, text, n) : NULL);
}
#endif

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *context)
{
    FAULT(pthread_create, bad_errno);
    RETURN(int, REAL(pthread_create)(thread, attributes, function, context));
}

int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    FAULT(posix_spawn, bad_errno);
    RETURN(int, REAL(posix_spawn)(child, path, actions, attributes, arguments, environment));
}

pid_t fork(void)
{
    FAULT(fork, -1);
    RETURN(pid_t, REAL(fork)());
}

void *dlopen(const char *path, int flags)
{
    FAULT(dlopen, NULL);
    RETURN(void *, REAL(dlopen)(path, flags));
}

int flock(int file, int operation)
{
    FAULT(flock, -1);
    RETURN(int, (int)syscall(SYS_flock, file, operation));
}

int memfd_create(const char *name, unsigned flags)
{
    FAULT(memfd_create, -1);
    RETURN(int, (int)syscall(SYS_memfd_create, name, flags));
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    static _Atomic unsigned n;
    int code = (int)syscall(SYS_clock_gettime, id, now);
    if (id == CLOCK_REALTIME && getenv("SHIM_CLOCK"))
        now->tv_sec += (atomic_fetch_add(&n, 1) % 3 - 1) * 36000L;
    if (id == CLOCK_MONOTONIC && hurries)
        now->tv_sec += atomic_fetch_add(&n, 1) / 5;
    return code;
}

time_t time(time_t *where)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where)
        *where = now.tv_sec;
    return now.tv_sec;
}
