/* Fits the model of alpha-pinene to its data in memory, with libstiffit(3).
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   cc fit-alpha-pinene.c $(pkg-config --cflags --libs libstiffit) -o fit
 *   ./fit alpha-pinene.ode alpha-pinene.csv */
#include <stdio.h>
#include <stiffit/stiffit.h>

int main(int argc, char **argv)
{
    struct stiffit_error error = {0};
    struct stiffit_system *system = NULL;
    struct stiffit_problem *problem = NULL;
    struct stiffit_record *record = NULL;
    FILE *data = argc == 3 ? fopen(argv[2], "r") : NULL;
    double time, value;
    char name[64];
    if (!data || fscanf(data, "%*[^\n]")) /* dataset,time,observable,value */
        return fprintf(stderr, "usage: fit MODEL DATA\n"), 2;
    if (!stiffit_system_open(&system, argv[1], &error))
        stiffit_problem_new(&problem, system, &error);
    while (!error.code && fscanf(data, " %*[^,],%lf,%63[^,],%lf", &time, name, &value) == 3)
        stiffit_add_measurements(problem, name, 1, &time, &value, NULL, &error);
    fclose(data);
    if (!error.code && !stiffit_fit(problem, 0, &record, &error)) {
        printf("%s, ", stiffit_record_word(record, "status", 0));
        printf("objective %.10g\n", stiffit_record_number(record, "objective", 0));
        for (size_t i = 0; i < stiffit_problem_n_parameter(problem); i++)
            printf("%s = %.10g +- %.2g\n", stiffit_system_item(system, STIFFIT_PARAMETERS, i),
                   stiffit_record_number(record, "parameters", i),
                   stiffit_record_number(record, "standard_error", i));
    }
    if (error.code)
        fprintf(stderr, "%s\n", error.message);
    stiffit_record_free(record);
    stiffit_problem_free(problem);
    stiffit_system_close(system);
    return error.code;
}
