/* Fits the model of alpha-pinene to its data in memory, with libstiffit(3).
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   cc fit-alpha-pinene.c $(pkg-config --cflags --libs libstiffit) -o fit && ./fit alpha-pinene.ode alpha-pinene.csv */
#include <stdio.h>
#include <stiffit/stiffit.h>

int main(int argc, char **argv)
{
    struct stiffit_error error = {0};
    struct stiffit_system *system = NULL;
    struct stiffit_problem *problem = NULL;
    struct stiffit_record *record = NULL;
    char observable[64];
    double time, value;
    FILE *data = argc == 3 ? fopen(argv[2], "r") : NULL;
    if (!data || stiffit_system_open(&system, argv[1], &error) || stiffit_problem_new(&problem, system, &error))
        goto done;
    fscanf(data, "%*[^\n]"); /* dataset,time,observable,value */
    while (!error.code && fscanf(data, " %*[^,],%lf,%63[^,],%lf", &time, observable, &value) == 3)
        stiffit_add_measurements(problem, observable, 1, &time, &value, NULL, &error);
    if (error.code || stiffit_fit(problem, 0, &record, &error))
        goto done;
    printf("%s, objective %.10g\n", stiffit_record_word(record, "status", 0), stiffit_record_number(record, "objective", 0));
    for (size_t i = 0; i < stiffit_problem_n_parameter(problem); i++)
        printf("%s = %.10g +- %.2g\n", stiffit_system_item(system, STIFFIT_PARAMETERS, i),
               stiffit_record_number(record, "parameters", i), stiffit_record_number(record, "standard_error", i));
done:
    if (!data || error.code)
        fprintf(stderr, "%s\n", error.code ? error.message : "usage: fit-alpha-pinene MODEL DATA");
    int is_good = record && stiffit_record_is_success(record);
    stiffit_record_free(record);
    stiffit_problem_free(problem);
    stiffit_system_close(system);
    return !is_good;
}
