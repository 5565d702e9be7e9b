/* Model text on its way to a loaded model: what counts as text, what the model keeps of it, and what is told.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"

#include "base/sha256.h"
#include "model/build/cache.h"
#include "model/text/text.h"
#include "model/plugin.h"

#include <dirent.h>
#include <sys/stat.h>

static const char text[] = "model line\nparameter k = 2\nconstant unused = 1\nobserve y = k*t\n";

struct place {
    char root[100], tmp[120], folder[200], model[200];
    size_t n_told;
    char told[2000];
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    if (!place)
        return -1;
    strcpy(place->root, "/tmp/stiffit-build-test-XXXXXX");
    if (!mkdtemp(place->root))
        return -1;
    snprintf(place->tmp, sizeof place->tmp, "%s/tmp", place->root);
    snprintf(place->folder, sizeof place->folder, "%s/stiffit/models", place->root);
    snprintf(place->model, sizeof place->model, "%s/line.ode", place->root);
    mkdir(place->tmp, 0700);
    setenv("XDG_CACHE_HOME", place->root, 1);
    setenv("TMPDIR", place->tmp, 1);
    FILE *file = fopen(place->model, "w");
    if (!file)
        return -1;
    fputs(text, file);
    *state = place;
    return fclose(file);
}

static int teardown(void **state)
{
    struct place *place = *state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", place->root);
    free(place);
    return system(command);
}

static void hear(void *context, const char *line)
{
    struct place *place = context;
    place->n_told++;
    snprintf(place->told + strlen(place->told), sizeof place->told - strlen(place->told), "%s\n", line);
}

static void what_is_model_text(void **state)
{
    (void)state;
    static const struct { const char *name, *bytes; bool is_text; } cases[] = {
        {"m.ode", "anything", true}, {"m.ode", "", true}, {"m.ode", "\177ELF...", false},
        {"m", "par k = 1\nobserve y", true}, {"m.txt", "  parameter k = 1; observe y\n", true},
        {"m.txt", "# parameter k\nobserve y\n", false}, {"m.txt", "x // ; par k = 1\nobserve y\n", false},
        {"m.txt", "we observe y and parameter k\n", false}, {"m.txt", "observer y\nparameters k\n", false},
        {"m.c", "par k = 1\nobserve y\n", false}, {"m.so", "par k = 1\nobserve y\n", false}, {"m", "", false},
        {"m", "par", false}, {"m", "observe y\npar\tk = 1", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (kind_is_model_text(cases[i].bytes, strlen(cases[i].bytes), cases[i].name) != cases[i].is_text)
            fail_msg("%s: '%s'", cases[i].name, cases[i].bytes);
    assert_false(kind_is_model_text("par k = 1\nobserve y\0", 20, "m"));
    assert_true(kind_text_is_named(text, strlen(text)));
    assert_true(kind_text_is_named("x = 1; model y", 14));
    assert_false(kind_text_is_named("x = 1 # ; model y\nmodels z", 26));
}

static void check_line(const struct model *model)
{
    double p = 2, y = 0;
    const struct stiffit_point at = {.t = 3, .p = &p};
    assert_string_equal(model->abi.name, "line");
    assert_int_equal(model->abi.observe(&at, &y), 0);
    assert_true(y == 6);
}

static void text_becomes_a_model(void **state)
{
    struct place *place = *state;
    struct model model;
    struct error error = {0};
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX];
    const struct build_options options = {.warn = true, .listener = {.tell = hear, .context = place}};
    sha256_of(text, strlen(text), digest);
    sha256_hex(digest, hex);
    for (int i = 0; i < 2; i++) { /* the second one from the cache: no other words */
        place->n_told = 0;
        place->told[0] = '\0';
        if (model_load_with(&model, place->model, hex, &options, &error))
            fail_msg("%s", error.message);
        check_line(&model);
        assert_string_equal(model.sha256, hex); /* the text's: it does not matter what compiled it */
        assert_string_equal(model.source, text);
        assert_string_equal(model.path, place->model);
        assert_non_null(strstr(model.compiler, "-shared"));
        assert_int_equal(place->n_told, 1);
        assert_non_null(strstr(place->told, "line.ode:3:"));
        assert_non_null(strstr(place->told, "warning: "));
        model_unload(&model);
        assert_null(model.source);
    }
    hex[0] = hex[0] == '0' ? '1' : '0';
    assert_int_equal(model_load(&model, place->model, hex, &error), STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, "not the expected model"));
    assert_int_equal(model_load_text(&model, "par k = 1\nobserve z\n", 20, "m.ode", NULL, &options, &error), STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, "m.ode:2:9"));
    assert_null(model.source);
}

/* An entry that is whole, but nothing that this machine's loader takes. */
static void what_does_not_load_is_made_anew(void **state)
{
    struct place *place = *state;
    struct model model;
    struct error error = {0};
    struct cache cache;
    struct build_wait wait = {.told = false};
    char key[SHA256_HEX] = "";
    assert_int_equal(model_load(&model, place->model, NULL, &error), STATUS_OK);
    model_unload(&model);
    DIR *list = opendir(place->folder);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));)
        if (entry->d_name[0] != '.')
            snprintf(key, sizeof key, "%.64s", entry->d_name);
    closedir(list);
    cache_open(&cache, &wait);
    for (int i = 0; i < 2; i++) {
        const struct built strange = {.bytes = (void *)(uintptr_t)"\177ELF of another kind", .n_byte = 20,
                                      .compiler = (char *)(uintptr_t)"strange"};
        assert_true(cache_put(&cache, key, &strange));
        assert_int_equal(model_load(&model, place->model, NULL, &error), STATUS_OK);
        check_line(&model);
        assert_null(strstr(model.compiler, "strange"));
        model_unload(&model);
        struct built built;
        assert_true(cache_get(&cache, key, &built)); /* the new one is there for the next */
        assert_true(built.n_byte > 1000);
        built_fini(&built);
    }
    cache_close(&cache);
}

static void source_and_options(void **state)
{
    (void)state;
    struct error error = {0};
    struct text_messages messages = {0};
    struct built built;
    char *source = NULL;
    assert_int_equal(build_source(text, strlen(text), "line.ode", &source, &messages, &error), STATUS_OK);
    assert_non_null(strstr(source, "#include <stiffit/model.h>"));
    assert_int_equal(messages.n_message, 1);
    assert_int_equal(messages.n_error, 0);
    text_messages_fini(&messages);
    free(source);
    const struct build_options without = {.no_cache = true};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(build_model(text, strlen(text), "line.ode", &without, &built, NULL, &error), STATUS_OK);
        assert_false(built.from_cache);
        built_fini(&built);
    }
    for (int i = 0; i < 4; i++) {
        const struct build_options options = {.portable = i > 1};
        assert_int_equal(build_model(text, strlen(text), "line.ode", &options, &built, NULL, &error), STATUS_OK);
        assert_int_equal(built.from_cache, i % 2);
        assert_int_equal(strstr(built.compiler, "native") == NULL, i > 1);
        built_fini(&built);
    }
    const struct build_options anew = {.anew = true};
    assert_int_equal(build_model(text, strlen(text), "line.ode", &anew, &built, NULL, &error), STATUS_OK);
    assert_false(built.from_cache);
    built_fini(&built);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(what_is_model_text), TEST(text_becomes_a_model),
                                       TEST(what_does_not_load_is_made_anew), TEST(source_and_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
