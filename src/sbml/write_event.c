/* Writes events: what an assignment of a concentration means for the amount that is the state.
 * The amount is the concentration times the size of the compartment before the event, also where
 * the event changes the size, too.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/expand.h"
#include "sbml/translation.h"

static bool assigns(const struct item *event, const struct item *target)
{
    for (size_t k = 0; k < event->event.n_assignment; k++)
        if (event->event.assignment[k].target == target)
            return true;
    return false;
}

/* Whether a formula's value depends on what this event assigns, or any event if `event` is NULL. */
struct watch { const struct item *event; bool found; };
static void watch(void *context, const struct math *math, struct item *item)
{
    struct watch *at = context;
    bool is_changed = item && (at->event ? assigns(at->event, item) : item->is_assigned);
    at->found = at->found || is_changed || math->kind == MATH_RATE_OF;
}

static bool is_changed_by(struct document *document, const struct item *event,
                          const struct math *math)
{
    struct watch at = {event, false};
    math_visit(document, math, watch, &at);
    return at.found;
}

static bool is_resized_by(struct document *document, const struct item *event,
                          const struct item *compartment)
{
    const struct math name = {.kind = MATH_NAME, .text = compartment->id};
    return is_changed_by(document, event, &name);
}

/* Whether another event may change the compartment's size. */
static bool is_resized_by_others(struct document *document, const struct item *event,
                                 struct item *compartment)
{
    bool found = false;
    for (size_t i = 0; i < document->n_item && !found; i++) {
        const struct item *other = document->item[i];
        found = other->kind == ITEM_EVENT && other != event &&
                is_resized_by(document, other, compartment);
    }
    return found;
}

/* Whether values are computed when the trigger becomes true, not when the event happens. Without
 * a delay it makes a difference only if another event happens in between, and then a
 * concentration must become an amount with the size after that one: this is possible if the
 * values themselves cannot have changed. */
static bool takes_early_values(const struct translation *translation, const struct item *event)
{
    struct document *document = translation->document;
    bool is_resized = false, is_free = true;
    for (size_t k = 0; k < event->event.n_assignment; k++) {
        const struct assignment *to = &event->event.assignment[k];
        struct item *compartment = to->target->form == FORM_AMOUNT ? to->target->compartment : NULL;
        is_resized =
            is_resized || (compartment && is_resized_by_others(document, event, compartment));
        is_free = is_free && !is_changed_by(document, NULL, to->math);
        if (compartment && !assigns(event, compartment) &&
            is_resized_by(document, event, compartment))
            document_fault(document, to->line, "event assignment to", to->target->id,
                           "the event sets a concentration and "
                           "what the size of its compartment `%s` depends on: let the event assign "
                           "the size itself",
                           compartment->id);
        else if (compartment && event->event.delay && event->event.early_values)
            document_fault(document, to->line, "event assignment to", to->target->id,
                           "a concentration is set after a delay "
                           "with a value from before it, and the size of the compartment may "
                           "change meanwhile: "
                           "useValuesFromTriggerTime=\"false\" takes both from after it");
    }
    if (event->event.early_values && is_resized && !is_free && translation->pass > 1)
        document_note(document, event,
                      "it sets concentrations by values of its trigger's time; if another event "
                      "changes the size of the compartment at the same time and before it, the "
                      "size before that is taken, too");
    return event->event.early_values && (event->event.delay || !is_resized || !is_free);
}

/* The condition of an event. */
static void write_trigger(const struct writer *writer, const struct item *event)
{
    const struct math *math = event->rule;
    struct writer trigger = *writer;
    trigger.is_trigger = true;
    if (math->kind == MATH_NUMBER) { /* true at the initial time, and only then new; or never */
        fputs(math->value != 0 ? "t > -1e300" : "0", writer->out);
    } else if (math->kind == MATH_NAME) { /* a number that is not 0 is true */
        write_math(writer, math, LEVEL_SUM);
        fputs(" > 0 or ", writer->out);
        write_math(writer, math, LEVEL_SUM);
        fputs(" < 0", writer->out);
    } else if (has_equality(writer->translation->document, math)) {
        document_fault(writer->translation->document, event->line, item_words[event->kind],
                       event->id,
                       "its trigger tests for equality, which holds at single points; write a "
                       "comparison with < or > (only times that do not vary can be met, as in "
                       "time == 1)");
    } else {
        write_math(&trigger, math, LEVEL_ANY);
    }
}

void write_event(struct translation *translation, const struct item *event)
{
    struct line line;
    struct writer writer = begin_line(translation, &line, event);
    const char *const comment = comment_of(translation, event);
    const struct {
        const char *word;
        const struct math *math;
    } times[] = {{" delay ", event->event.delay}, {" priority ", event->event.priority}};
    const struct math *trigger = event->rule;
    bool never =
        trigger->kind == MATH_NUMBER && !(trigger->value != 0 && event->event.initially_false);
    const char *what = never ? "# event %s, which never happens: when " : "event %s when ";
    if (!event->event.n_assignment)
        what = "# event %s, which assigns nothing: when ";
    fprintf(writer.out, what, event->name);
    write_trigger(&writer, event);
    for (size_t k = 0; k < sizeof times / sizeof *times; k++)
        if (times[k].math) {
            fputs(times[k].word, writer.out);
            write_math(&writer, times[k].math, LEVEL_OR);
        }
    fputs(event->event.initially_false ? " initially false" : "", writer.out);
    fputs(event->event.can_lapse ? " can lapse" : "", writer.out);
    fputs(takes_early_values(translation, event) ? " early values" : "", writer.out);
    fputs(is_strict(translation->document, event) ? " after measurements" : "", writer.out);
    for (size_t k = 0; k < event->event.n_assignment; k++) {
        const struct assignment *to = &event->event.assignment[k];
        const struct item *target = to->target;
        bool is_amount = target->form == FORM_AMOUNT;
        fprintf(writer.out, k ? ", %s = " : ": %s = ", target->state);
        write_math(&writer, to->math, is_amount ? LEVEL_PRODUCT : LEVEL_ANY);
        if (!is_amount)
            continue;
        fprintf(writer.out, "*%s", target->compartment->name);
    }
    end_line(translation, &line, SECTION_EVENTS, comment);
}
