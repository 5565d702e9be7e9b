/* Formulas of an SBML file: from libSBML's tree to ours, by a table of MathML's functions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBSBML
/* Type in libSBML, kind, text, fewest and most operands. */
static const struct form {
    int type;
    enum math_kind kind;
    const char *text;
    uint32_t fewest, most;
} forms[] = {
    {AST_PLUS, MATH_SUM, "plus", 0, UINT32_MAX},
    {AST_MINUS, MATH_MINUS, "minus", 1, 2},
    {AST_TIMES, MATH_PRODUCT, "times", 0, UINT32_MAX},
    {AST_DIVIDE, MATH_DIVIDE, "divide", 2, 2},
    {AST_POWER, MATH_POWER, "power", 2, 2},
    {AST_FUNCTION_POWER, MATH_POWER, "power", 2, 2},
    {AST_FUNCTION_ROOT, MATH_ROOT, "root", 1, 2},
    {AST_FUNCTION_LOG, MATH_LOG, "log", 1, 2},
    {AST_LOGICAL_AND, MATH_AND, "and", 0, UINT32_MAX},
    {AST_LOGICAL_OR, MATH_OR, "or", 0, UINT32_MAX},
    {AST_LOGICAL_NOT, MATH_NOT, "not", 1, 1},
    {AST_LOGICAL_IMPLIES, MATH_IMPLIES, "implies", 2, 2},
    {AST_LOGICAL_XOR, MATH_HELPER, "xor", 0, UINT32_MAX},
    {AST_RELATIONAL_EQ, MATH_COMPARE, "==", 2, UINT32_MAX},
    {AST_RELATIONAL_NEQ, MATH_COMPARE, "!=", 2, 2},
    {AST_RELATIONAL_LT, MATH_COMPARE, "<", 2, UINT32_MAX},
    {AST_RELATIONAL_LEQ, MATH_COMPARE, "<=", 2, UINT32_MAX},
    {AST_RELATIONAL_GT, MATH_COMPARE, ">", 2, UINT32_MAX},
    {AST_RELATIONAL_GEQ, MATH_COMPARE, ">=", 2, UINT32_MAX},
    {AST_FUNCTION_PIECEWISE, MATH_PIECEWISE, "piecewise", 0, UINT32_MAX},
    {AST_FUNCTION_RATE_OF, MATH_RATE_OF, "rateOf", 1, 1},
    {AST_FUNCTION_DELAY, MATH_DELAY, "delay", 2, 2},
    {AST_FUNCTION_FACTORIAL, MATH_HELPER, "factorial", 1, 1},
    {AST_FUNCTION_QUOTIENT, MATH_HELPER, "quotient", 2, 2},
    {AST_FUNCTION_REM, MATH_HELPER, "rem", 2, 2},
    {AST_FUNCTION_MIN, MATH_FUNCTION, "min", 1, UINT32_MAX},
    {AST_FUNCTION_MAX, MATH_FUNCTION, "max", 1, UINT32_MAX},
    {AST_FUNCTION_ABS, MATH_FUNCTION, "abs", 1, 1},
    {AST_FUNCTION_EXP, MATH_FUNCTION, "exp", 1, 1},
    {AST_FUNCTION_LN, MATH_FUNCTION, "log", 1, 1},
    {AST_FUNCTION_FLOOR, MATH_FUNCTION, "floor", 1, 1},
    {AST_FUNCTION_CEILING, MATH_FUNCTION, "ceil", 1, 1},
    {AST_FUNCTION_SIN, MATH_FUNCTION, "sin", 1, 1},
    {AST_FUNCTION_COS, MATH_FUNCTION, "cos", 1, 1},
    {AST_FUNCTION_TAN, MATH_FUNCTION, "tan", 1, 1},
    {AST_FUNCTION_SINH, MATH_FUNCTION, "sinh", 1, 1},
    {AST_FUNCTION_COSH, MATH_FUNCTION, "cosh", 1, 1},
    {AST_FUNCTION_TANH, MATH_FUNCTION, "tanh", 1, 1},
    {AST_FUNCTION_ARCSIN, MATH_FUNCTION, "asin", 1, 1},
    {AST_FUNCTION_ARCCOS, MATH_FUNCTION, "acos", 1, 1},
    {AST_FUNCTION_ARCTAN, MATH_FUNCTION, "atan", 1, 1},
    {AST_FUNCTION_ARCSINH, MATH_FUNCTION, "asinh", 1, 1},
    {AST_FUNCTION_ARCCOSH, MATH_FUNCTION, "acosh", 1, 1},
    {AST_FUNCTION_ARCTANH, MATH_FUNCTION, "atanh", 1, 1},
    {AST_FUNCTION_SEC, MATH_OF_ONE, "1/cos(@)", 1, 1},
    {AST_FUNCTION_CSC, MATH_OF_ONE, "1/sin(@)", 1, 1},
    {AST_FUNCTION_COT, MATH_OF_ONE, "1/tan(@)", 1, 1},
    {AST_FUNCTION_SECH, MATH_OF_ONE, "1/cosh(@)", 1, 1},
    {AST_FUNCTION_CSCH, MATH_OF_ONE, "1/sinh(@)", 1, 1},
    {AST_FUNCTION_COTH, MATH_OF_ONE, "1/tanh(@)", 1, 1},
    {AST_FUNCTION_ARCSEC, MATH_OF_ONE, "acos(1/(@))", 1, 1},
    {AST_FUNCTION_ARCCSC, MATH_OF_ONE, "asin(1/(@))", 1, 1},
    {AST_FUNCTION_ARCCOT, MATH_OF_ONE, "atan(1/(@))", 1, 1},
    {AST_FUNCTION_ARCSECH, MATH_OF_ONE, "acosh(1/(@))", 1, 1},
    {AST_FUNCTION_ARCCSCH, MATH_OF_ONE, "asinh(1/(@))", 1, 1},
    {AST_FUNCTION_ARCCOTH, MATH_OF_ONE, "atanh(1/(@))", 1, 1},
};

static double read_number(const struct library *lib, const ASTNode_t *node, int type)
{
    char text[80];
    switch (type) {
    case AST_INTEGER:
        return (double)lib->ASTNode_getInteger(node);
    case AST_RATIONAL:
        return (double)lib->ASTNode_getNumerator(node) / (double)lib->ASTNode_getDenominator(node);
    case AST_REAL_E: /* rounded once: 1.1e-5, not 1.1 times 1e-5 */
        if (!isfinite(lib->ASTNode_getMantissa(node)))
            return lib->ASTNode_getMantissa(node);
        snprintf(text, sizeof text, "%.15ge%ld", lib->ASTNode_getMantissa(node),
                 lib->ASTNode_getExponent(node));
        return strtod(text, NULL);
    default:
        return lib->ASTNode_getReal(node);
    }
}

struct math *read_math(struct reading *reading, const ASTNode_t *node, unsigned line,
                       const char *what, const char *id)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
    struct math *math = node ? arena_calloc(&document->arena, 1, sizeof *math) : NULL;
    if (!node)
        return NULL;
    if (!math) {
        document_no_memory(document);
        return NULL;
    }
    int type = lib->ASTNode_getType(node);
    const char *name = lib->ASTNode_getName(node);
    const struct form *form = NULL;
    uint32_t n = lib->ASTNode_getNumChildren(node);
    switch (type) {
    case AST_INTEGER: case AST_REAL: case AST_REAL_E: case AST_RATIONAL:
        math->value = read_number(lib, node, type);
        return math;
    case AST_CONSTANT_E:
        math->value = M_E;
        return math;
    case AST_CONSTANT_PI:
        *math = (struct math){.kind = MATH_FUNCTION, .text = "pi"};
        return math;
    case AST_CONSTANT_TRUE: case AST_CONSTANT_FALSE:
        math->value = type == AST_CONSTANT_TRUE;
        return math;
    case AST_NAME_TIME: case AST_NAME_AVOGADRO:
        math->kind = type == AST_NAME_TIME ? MATH_TIME : MATH_AVOGADRO;
        return math;
    case AST_NAME: case AST_FUNCTION:
        math->kind = type == AST_NAME ? MATH_NAME : MATH_CALL;
        if (!(math->text = arena_strdup(&document->arena, name ? name : "")))
            document_no_memory(document);
        break;
    default:
        for (size_t i = 0; i < sizeof forms / sizeof *forms && !form; i++)
            form = forms[i].type == type ? &forms[i] : NULL;
        if (!form) {
            document_fault(document, line, what, id,
                           "its formula contains %s%.100s, which is not supported",
                           name ? "" : "a part that libSBML gives no name", name ? name : "");
            return NULL;
        }
        if (n < form->fewest || n > form->most) {
            document_fault(document, line, what, id, "%s has %u argument%s", form->text, n,
                           n == 1 ? "" : "s");
            return NULL;
        }
        math->kind = form->kind;
        math->text = form->text;
        if (math->kind == MATH_DELAY) {
            math->value = line;
            document->n_delay++;
        }
    }
    /* libSBML makes ((a + b) + c) + d of a long sum: the operands of all levels, so that no
     * recursion goes that deep. */
    bool is_nested = math->kind == MATH_SUM || math->kind == MATH_PRODUCT ||
                     math->kind == MATH_AND || math->kind == MATH_OR;
    const ASTNode_t *last = node;
    while (is_nested && n >= 2 &&
           (int)lib->ASTNode_getType(lib->ASTNode_getChild(last, 0)) == type &&
           lib->ASTNode_getNumChildren(lib->ASTNode_getChild(last, 0)) >= 2) {
        last = lib->ASTNode_getChild(last, 0);
        n += lib->ASTNode_getNumChildren(last) - 1;
    }
    if (n && !(math->operand = arena_calloc(&document->arena, n, sizeof *math->operand)))
        document_no_memory(document);
    math->n = n;
    for (const ASTNode_t *at = node; math->operand && n && !document->failed;
         at = lib->ASTNode_getChild(at, 0))
        for (uint32_t k = lib->ASTNode_getNumChildren(at);
             k-- > (at == last ? 0 : 1) && !document->failed;)
            math->operand[--n] = read_math(reading, lib->ASTNode_getChild(at, k), line, what, id);
    return document->failed ? NULL : math;
}
#endif
