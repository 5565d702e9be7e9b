/* The interface of sbml/sbml.h: what a caller asks ids to be, and the table of names. Numbers are tested end to end.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/sbml.h"

#include "model/text/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char file_text[] =
    "<?xml version='1.0' encoding='UTF-8'?>\n"
    "<sbml xmlns='http://www.sbml.org/sbml/level3/version2/core' level='3' version='2'><model id='m' name='a model'>\n"
    "<listOfCompartments><compartment id='c' size='2' spatialDimensions='3' constant='false'/></listOfCompartments>\n"
    "<listOfSpecies>\n"
    "<species id='S' compartment='c' initialAmount='6' hasOnlySubstanceUnits='false' boundaryCondition='false'"
    " constant='false'/>\n"
    "<species id='P' compartment='c' initialConcentration='1' hasOnlySubstanceUnits='false' boundaryCondition='false'"
    " constant='false'/>\n"
    "</listOfSpecies><listOfParameters>\n"
    "<parameter id='k' value='0.8' constant='true'/><parameter id='t' value='5' constant='true'/>\n"
    "<parameter id='free' value='7' constant='false'/><parameter id='obs' value='3' constant='true'/>\n"
    "<parameter id='a' constant='false'/></listOfParameters>\n"
    "<listOfInitialAssignments><initialAssignment symbol='P'><math xmlns='http://www.w3.org/1998/Math/MathML'><ci> t </ci>"
    "</math></initialAssignment></listOfInitialAssignments>\n"
    "<listOfRules><assignmentRule variable='a'><math xmlns='http://www.w3.org/1998/Math/MathML'><ci> S </ci></math>"
    "</assignmentRule></listOfRules>\n"
    "<listOfReactions><reaction id='v' reversible='false'><listOfReactants><speciesReference species='S' stoichiometry='1'"
    " constant='true'/></listOfReactants><listOfProducts><speciesReference species='P' stoichiometry='1' constant='true'/>"
    "</listOfProducts><kineticLaw><math xmlns='http://www.w3.org/1998/Math/MathML'><apply><times/><ci> k </ci><ci> q </ci>"
    "<ci> S </ci></apply></math><listOfLocalParameters><localParameter id='q' value='2'/></listOfLocalParameters></kineticLaw>"
    "</reaction></listOfReactions></model></sbml>\n";

static char path[] = "/tmp/stiffit-sbml-XXXXXX.xml";

static int write_file(void **state)
{
    int file = mkstemps(path, 4);
    (void)state;
    return file < 0 || write(file, file_text, strlen(file_text)) != (ssize_t)strlen(file_text) || close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static struct sbml_model translate(size_t n_request, const struct sbml_request *request, enum sbml_role constants)
{
    static const char *const taken[] = {"obs", "S_0"};
    const struct sbml_options options = {.n_request = n_request, .request = request, .constants = constants, .n_taken = 2,
                                         .taken = taken};
    struct sbml_model model;
    struct error error = {.status = STATUS_OK};
    if (!sbml_is_built())
        skip();
    if (sbml_translate(&model, path, &options, &error))
        fail_msg("%s", error.message);
    struct equations *equations = NULL;
    struct text_messages messages = {.n_message = 0};
    if (text_parse(model.text, strlen(model.text), "text", &equations, &messages, &error))
        fail_msg("%s\n%s", error.message, model.text);
    text_messages_fini(&messages);
    equations_free(equations);
    return model;
}

#define assert_says(model, line) \
    do { \
        if (!strstr((model).text, "\n" line "\n")) \
            fail_msg("no line '%s' in\n%s", line, (model).text); \
    } while (0)

static void assert_text(const char *is, const char *expected)
{
    if (expected)
        assert_string_equal(is, expected);
    else
        assert_null(is);
}

static void assert_name(const struct sbml_model *model, const char *id, const char *name, enum sbml_kind kind,
                        const char *initial, const char *state, const char *factor)
{
    const struct sbml_name *found = sbml_find(model, id);
    assert_non_null(found);
    assert_string_equal(found->id, id);
    assert_text(found->name, name);
    assert_int_equal(found->kind, kind);
    assert_text(found->initial, initial);
    assert_text(found->state, state);
    assert_text(found->factor, factor);
}

static void names_without_requests(void **state)
{
    struct sbml_model model = translate(0, NULL, SBML_AS_PARAMETER);
    (void)state;
    assert_string_equal(model.name, "a model");
    assert_name(&model, "k", "k", SBML_IS_PARAMETER, "k", NULL, NULL);
    assert_name(&model, "t", "t_", SBML_IS_PARAMETER, "t_", NULL, NULL); /* reserved */
    assert_name(&model, "obs", "obs_", SBML_IS_PARAMETER, "obs_", NULL, NULL); /* taken */
    assert_name(&model, "v.q", "v_q", SBML_IS_PARAMETER, "v_q", NULL, NULL);
    assert_name(&model, "c", "c", SBML_IS_CONSTANT, NULL, NULL, NULL);
    assert_name(&model, "S", "S", SBML_IS_STATE, NULL, "S", NULL);
    assert_name(&model, "a", "a", SBML_IS_INTERMEDIATE, NULL, NULL, NULL);
    assert_name(&model, "v", "v", SBML_IS_INTERMEDIATE, NULL, NULL, NULL);
    assert_null(sbml_find(&model, "nothing"));
    assert_null(sbml_find(&model, "q"));
    assert_float_equal(sbml_find(&model, "S")->value, 3, 0); /* 6 in a volume of 2 */
    assert_true(isnan(sbml_find(&model, "P")->value));       /* an initial assignment */
    assert_int_equal(sbml_find(&model, "k")->line, 8);
    for (size_t i = 1; i < model.n_name; i++)
        assert_true(strcmp(model.names[i - 1].id, model.names[i].id) < 0);
    assert_says(model, "S(0) = 6/c");
    assert_says(model, "P(0) = t_");
    sbml_model_fini(&model);
}

static void parameters_and_covariates(void **state)
{
    static const struct sbml_request request[] = {
        {.id = "k", .role = SBML_AS_PARAMETER, .attributes = "= 0.1 in [1e-3, 10] scale log10"},
        {.id = "S", .role = SBML_AS_COVARIATE}, {.id = "P", .role = SBML_AS_PARAMETER, .or_file = true},
        {.id = "free", .role = SBML_AS_COVARIATE}, {.id = "v.q", .role = SBML_AS_PARAMETER},
        {.id = "obs", .role = SBML_AS_COVARIATE, .or_file = true}};
    struct sbml_model model = translate(6, request, SBML_AS_IS);
    (void)state;
    assert_says(model, "parameter k = 0.1 in [1e-3, 10] scale log10");
    assert_says(model, "constant t_ = 5  # id t");
    assert_name(&model, "S", "S", SBML_IS_STATE, "S_0_", "S", NULL); /* S_0 is taken */
    assert_says(model, "covariate S_0_");
    assert_says(model, "S(0) = S_0_");
    assert_name(&model, "P", "P", SBML_IS_STATE, "P_init", "P", NULL);
    assert_string_equal(sbml_find(&model, "P")->is_given, "P_is_given");
    assert_says(model, "parameter P_init = 1");
    assert_says(model, "covariate P_is_given");
    assert_says(model, "P(0) = if(P_is_given, P_init, t_)");
    assert_name(&model, "free", "free", SBML_IS_COVARIATE, "free", NULL, NULL);
    assert_says(model, "parameter v_q = 2");
    assert_says(model, "obs_ = if(obs__is_given, obs__init, 3)  # id obs");
    sbml_model_fini(&model);
}

static void quantities_that_the_caller_changes(void **state)
{
    static const struct sbml_request request[] = {
        {.id = "k", .role = SBML_AS_STATE}, {.id = "c", .role = SBML_AS_STATE},
        {.id = "free", .role = SBML_AS_PARAMETER, .is_changed = true}};
    struct sbml_model model = translate(3, request, SBML_AS_IS);
    (void)state;
    assert_name(&model, "k", "k", SBML_IS_STATE, NULL, "k", NULL);
    assert_says(model, "k(0) = 0.8");
    assert_says(model, "k' = 0");
    assert_name(&model, "free", "free", SBML_IS_STATE, "free_0", "free", NULL);
    /* The volume may change: amounts are the states. */
    assert_name(&model, "S", "S", SBML_IS_INTERMEDIATE, NULL, "S_amount", "c");
    assert_says(model, "S_amount(0) = 6");
    assert_says(model, "S = S_amount/c");
    sbml_model_fini(&model);
}

static void refused_requests(void **state)
{
    static const struct sbml_request unknown = {.id = "nothing", .role = SBML_AS_PARAMETER}, ruled = {.id = "a", .role =
        SBML_AS_COVARIATE}, of_a_reaction = {.id = "v", .role = SBML_AS_COVARIATE};
    const struct sbml_request *const all[] = {&unknown, &ruled, &of_a_reaction};
    static const char *const words[] = {"no parameter, compartment or species `nothing`", "`a`: an assignment rule", "`v`"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct sbml_model model;
        struct error error = {.status = STATUS_OK};
        const struct sbml_options options = {.n_request = 1, .request = all[i]};
        if (!sbml_is_built())
            skip();
        assert_int_not_equal(sbml_translate(&model, path, &options, &error), STATUS_OK);
        assert_non_null(strstr(error.message, words[i]));
        assert_null(model.text);
    }
}

static void missing_file(void **state)
{
    struct sbml_model model;
    struct error error = {.status = STATUS_OK};
    const struct sbml_options options = {.n_request = 0};
    (void)state;
    enum status expected = sbml_is_built() ? STATUS_SYSTEM : STATUS_USAGE;
    assert_int_equal(sbml_translate(&model, "/nowhere/m.xml", &options, &error), expected);
    sbml_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_without_requests), cmocka_unit_test(parameters_and_covariates),
        cmocka_unit_test(quantities_that_the_caller_changes), cmocka_unit_test(refused_requests),
        cmocka_unit_test(missing_file)};
    return cmocka_run_group_tests(tests, write_file, remove_file);
}
