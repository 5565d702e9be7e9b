/* The compiler as a child: which one is taken, its flags, its failures, and that nothing stays behind.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"

#include "model/build/compile.h"
#include "model/plugin.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char source[] =
    "#include <stiffit/model.h>\n"
    "static int observe(const struct stiffit_point *at, double *out) { out[0] = at->p[0] * at->t; return 0; }\n"
    "static const char *const p[] = {\"k\"}, *const h[] = {\"y\"};\n"
    "STIFFIT_EXPORT const struct stiffit_model stiffit_model = {STIFFIT_MODEL_HEADER, .name = \"line\",\n"
    "    .n_parameter = 1, .n_observable = 1, .parameter_name = p, .observable_name = h, .observe = observe};\n";

/* A folder of the test's own, which is TMPDIR meanwhile. */
struct place {
    char folder[100], path[CASE_PATH];
};

static void write_script(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

static size_t count_entries(const char *folder)
{
    DIR *list = opendir(folder);
    assert_non_null(list);
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(list));)
        n += entry->d_name[0] != '.';
    closedir(list);
    return n;
}

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    strcpy(place->folder, "/tmp/stiffit-compile-test-XXXXXX");
    if (!place || !mkdtemp(place->folder))
        return -1;
    snprintf(place->path, sizeof place->path, "%s/tmp with blank", place->folder);
    mkdir(place->path, 0700);
    setenv("TMPDIR", place->path, 1);
    unsetenv("CC");
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", place->folder);
    int code = system(command);
    unsetenv("CC");
    free(place);
    return code;
}

/* As a caller does it; `error` is zeroed first. */
static enum status compile(const char *text, bool portable, const struct build_listener *listener, struct built *built,
                           struct error *error)
{
    struct compiler compiler;
    struct build_wait wait;
    const struct compile_request request = {.source = text, .n_byte = strlen(text), .origin = "m.ode", .portable = portable};
    *error = (struct error){0};
    *built = (struct built){.bytes = NULL};
    enum status status = compiler_find(&compiler, error);
    if (status)
        return status;
    wait_begin(&wait, listener);
    status = compile_plugin(&compiler, &request, &wait, built, error);
    compiler_fini(&compiler);
    wait_end(&wait);
    return status;
}

static void expect_plugin(const struct place *place, bool portable, const char *in_description, const char *not_in_it)
{
    struct built built;
    struct error error;
    struct model model;
    if (compile(source, portable, NULL, &built, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    if ((in_description && !strstr(built.compiler, in_description)) || (not_in_it && strstr(built.compiler, not_in_it)))
        fail_msg("described as: %s", built.compiler);
    if (model_load_bytes(&model, built.bytes, built.n_byte, "m.ode", NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    double p = 3, out = 0;
    const struct stiffit_point at = {.t = 2, .p = &p};
    assert_int_equal(model.abi.observe(&at, &out), 0);
    assert_float_equal(out, 6, 0);
    model_unload(&model);
    built_fini(&built);
    assert_int_equal(count_entries(place->path), 0);
}

/* What tcc makes asks for an executable stack, which glibc refuses since version 2.41: then it is said what to do. */
static bool can_have_executable_stack(const struct place *place)
{
    struct built built;
    struct error error;
    struct model model;
    if (compile(source, false, NULL, &built, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    bool can = model_load_bytes(&model, built.bytes, built.n_byte, "m.ode", NULL, &error) == STATUS_OK;
    if (can)
        model_unload(&model);
    else if (!strstr(error.message, "executable stack") || !strstr(error.message, "CC=gcc"))
        fail_msg("%s", error.message);
    built_fini(&built);
    assert_int_equal(count_entries(place->path), 0);
    return can;
}

static void compilers_make_plugins(void **state)
{
    static const char *const compilers[] = {"cc", "gcc", "clang", "tcc", "  gcc\t-m64 -O1 "};
    expect_plugin(*state, false, "-march=native", NULL);
    expect_plugin(*state, true, "-O3", "native");
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        char command[100];
        snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", compilers[i]);
        if (system(command) != 0) {
            print_message("skip %s: not here\n", compilers[i]);
            continue;
        }
        setenv("CC", compilers[i], 1);
        if (strcmp(compilers[i], "tcc") || can_have_executable_stack(*state))
            expect_plugin(*state, false, strstr(compilers[i], "-O1") ? "-shared -m64 -O1" : compilers[i], NULL);
    }
    setenv("CC", "   ", 1); /* as if it were not set */
    expect_plugin(*state, false, NULL, NULL);
}

/* A compiler that turns away what it does not know, as gcc on POWER and clang on ARM do with -march=native. */
static void unknown_flags_are_left_out(void **state)
{
    struct place *place = *state;
    char path[CASE_PATH];
    snprintf(path, sizeof path, "%s/picky", place->folder);
    write_script(path, "#!/bin/sh\nfor a in \"$@\"; do case $a in -march=native)\n"
                 "echo \"cc: error: unrecognized command-line option '$a'; did you mean '-mcpu=native'?\" >&2; exit 1;;\n"
                 "esac; done\nfor a in \"$@\"; do shift; case $a in -mcpu=native) ;; *) set -- \"$@\" \"$a\";; esac; done\n"
                 "exec cc \"$@\"\n");
    setenv("CC", path, 1);
    expect_plugin(place, false, "-mcpu=native", "-march");
    write_script(path, "#!/bin/sh\nfor a in \"$@\"; do case $a in *native|-ffp*|-fno*)\n"
                 "echo \"unknown argument: $a\" >&2; exit 1;; esac; done\nexec cc \"$@\"\n");
    expect_plugin(place, false, "-O2 -fPIC -shared", "-f-");
}

static void faults_are_told(void **state)
{
    struct place *place = *state;
    struct built built;
    struct error error;
    char path[CASE_PATH];
    assert_int_equal(compile("int x = 1 +;\n", false, NULL, &built, &error), STATUS_BAD_MODEL);
    assert_null(built.bytes);
    if (!strstr(error.message, "m.ode") || !strstr(error.message, "model.c:1:") || strstr(error.message, place->folder))
        fail_msg("%s", error.message);

    setenv("CC", "no-such-compiler -O2", 1);
    assert_int_equal(compile(source, false, NULL, &built, &error), STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, "no program 'no-such-compiler'"));

    char *before = strdup(getenv("PATH"));
    unsetenv("CC");
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(compile(source, false, NULL, &built, &error), STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, "no C compiler found (tried $CC, cc, gcc, clang): install one"));
    setenv("PATH", before, 1);
    free(before);

    snprintf(path, sizeof path, "%s/dies", place->folder);
    write_script(path, "#!/bin/sh\necho some words; kill -9 $$\n");
    setenv("CC", path, 1);
    assert_int_equal(compile(source, false, NULL, &built, &error), STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, "signal 9"));
    assert_non_null(strstr(error.message, "some words"));

    write_script(path, "#!/bin/sh\nexit 0\n");
    assert_int_equal(compile(source, false, NULL, &built, &error), STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, "wrote no plugin"));

    write_script(path, "not a program\n"); /* no #! line: only a shell would run it */
    assert_int_equal(compile(source, false, NULL, &built, &error) == STATUS_OK, false);
    assert_int_equal(count_entries(place->path), 0);

    unsetenv("CC");
    setenv("TMPDIR", "/no/such/place", 1);
    assert_int_equal(compile(source, false, NULL, &built, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "TMPDIR"));
}

static void the_environment_is_kept(void **state)
{
    struct place *place = *state;
    struct built built;
    struct error error;
    char path[CASE_PATH], text[CASE_PATH];
    snprintf(path, sizeof path, "%s/noisy", place->folder);
    write_script(path, "#!/bin/sh\necho \"$LC_ALL/$LANG/$MARK/$CFLAGS\" >&2; trap '' PIPE; exit 1\n");
    setenv("CC", path, 1);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("LANG", "xx", 1);
    setenv("MARK", "kept", 1);
    setenv("CFLAGS", "-O0", 1);
    assert_int_equal(compile(source, false, NULL, &built, &error), STATUS_BAD_MODEL);
    unsetenv("LC_ALL");
    unsetenv("LANG");
    assert_non_null(strstr(error.message, "C/xx/kept/-O0"));
    /* They are the user's for other programs: what we compile does not depend on them. */
    snprintf(text, sizeof text, "#!/bin/sh\ncase \"$*\" in *-O0*) exit 3;; esac\nexec cc \"$@\"\n");
    write_script(path, text);
    expect_plugin(place, false, NULL, "-O0");
    unsetenv("CFLAGS");
}

static volatile sig_atomic_t n_signal;
static void on_signal(int number) { (void)number, n_signal++; }

static void count_beat(void *context) { (*(int *)context)++; }

static void a_stop_ends_the_compiler(void **state)
{
    struct place *place = *state;
    struct built built;
    struct error error;
    char path[CASE_PATH];
    int n_beat = 0;
    const struct build_listener listener = {.beat = count_beat, .context = &n_beat};
    snprintf(path, sizeof path, "%s/slow", place->folder);
    write_script(path, "#!/bin/sh\n: >\"$TMPDIR/left\"; kill -TERM $PPID; sleep 100 & sleep 100\n");
    setenv("CC", path, 1);
    signal(SIGTERM, on_signal);
    signal(SIGHUP, SIG_IGN);
    raise(SIGHUP); /* ignored, as nohup does: no reason to stop */
    n_signal = 0;
    assert_int_equal(compile(source, false, &listener, &built, &error), STATUS_STOPPED);
    assert_int_equal(n_signal, 1);
    assert_true(n_beat > 0);
    assert_null(built.bytes);
    assert_int_equal(count_entries(place->path), 0);
    write_script(path, "#!/bin/sh\nkill -HUP $PPID; exec cc \"$@\"\n");
    expect_plugin(place, false, NULL, NULL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}

static void the_machine_decides_the_key(void **state)
{
    (void)state;
    unsigned char digest[4][SHA256_BYTES];
    for (int i = 0; i < 4; i++) {
        struct sha256 hash;
        sha256_begin(&hash);
        machine_hash(i % 2, &hash);
        sha256_end(&hash, digest[i]);
    }
    assert_memory_equal(digest[0], digest[2], SHA256_BYTES);
    assert_memory_equal(digest[1], digest[3], SHA256_BYTES);
    assert_memory_not_equal(digest[0], digest[1], SHA256_BYTES);
}

static void hash_of(const char *cc, unsigned char digest[SHA256_BYTES])
{
    struct compiler compiler;
    struct error error;
    struct sha256 hash;
    setenv("CC", cc, 1);
    assert_int_equal(compiler_find(&compiler, &error), STATUS_OK);
    sha256_begin(&hash);
    compiler_hash(&compiler, &hash);
    sha256_end(&hash, digest);
    compiler_fini(&compiler);
}

static void the_compiler_decides_the_key(void **state)
{
    struct place *place = *state;
    unsigned char one[SHA256_BYTES], other[SHA256_BYTES];
    char wrapper[CASE_PATH], tool[CASE_PATH], both[2 * CASE_PATH + 2];
    snprintf(wrapper, sizeof wrapper, "%s/wrap", place->folder);
    snprintf(tool, sizeof tool, "%s/tool", place->folder);
    snprintf(both, sizeof both, "%s %s", wrapper, tool);
    write_script(wrapper, "#!/bin/sh\nexec \"$@\"\n");
    write_script(tool, "#!/bin/sh\nexec cc \"$@\"\n");
    hash_of(both, one);
    hash_of(both, other);
    assert_memory_equal(one, other, SHA256_BYTES);
    write_script(tool, "#!/bin/sh\nexec gcc \"$@\"\n"); /* a new compiler behind an old wrapper */
    hash_of(both, other);
    assert_memory_not_equal(one, other, SHA256_BYTES);
    strcat(both, " -m64");
    hash_of(both, one);
    assert_memory_not_equal(one, other, SHA256_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(compilers_make_plugins, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_flags_are_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(faults_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(the_environment_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stop_ends_the_compiler, setup, teardown),
        cmocka_unit_test_setup_teardown(the_machine_decides_the_key, setup, teardown),
        cmocka_unit_test_setup_teardown(the_compiler_decides_the_key, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
