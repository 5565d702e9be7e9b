/* libSBML's functions, loaded when an SBML file is read: linked, the library would cost each
 * start of the program five milliseconds.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#ifdef HAVE_LIBSBML
#include <sbml/SBMLTypes.h>
#include <sbml/conversion/ConversionOption.h>
#include <sbml/conversion/ConversionProperties.h>

/* Every libSBML function that is called. The list makes both the struct's members and the
 * look-ups. */
#define LIBRARY_FUNCTIONS(X) \
    X(readSBMLFromFile) X(readSBMLFromString) X(writeSBMLToString) \
    X(SBMLDocument_free) X(SBMLDocument_getLevel) X(SBMLDocument_getVersion) \
    X(SBMLDocument_convert) X(SBMLDocument_setLocationURI) X(ConversionProperties_create) \
    X(ConversionProperties_free) X(ConversionProperties_addOption) X(ConversionOption_create) \
    X(ConversionOption_setBoolValue) X(ConversionOption_setType) X(ConversionOption_free) \
    X(SBMLDocument_getModel) \
    X(SBMLDocument_getNumErrors) X(SBMLDocument_getError) X(SBMLDocument_setConsistencyChecks) \
    X(SBMLDocument_checkConsistency) X(SBMLDocument_getNamespaces) \
    X(SBMLDocument_getPackageRequired) \
    X(SBMLDocument_isSetPackageRequired) X(XMLNamespaces_getLength) X(XMLNamespaces_getPrefix) \
    X(XMLNamespaces_getURI) \
    X(XMLError_getMessage) X(XMLError_getLine) X(XMLError_getSeverity) X(XMLError_getErrorId) \
    X(SBase_getIdAttribute) X(SBase_getName) X(SBase_getLine) \
    X(Model_getConversionFactor) X(Model_getNumFunctionDefinitions) X(Model_getFunctionDefinition) \
    X(Model_getNumCompartments) X(Model_getCompartment) X(Model_getNumSpecies) \
    X(Model_getSpecies) X(Model_getNumParameters) \
    X(Model_getParameter) X(Model_getNumInitialAssignments) X(Model_getInitialAssignment) \
    X(Model_getNumRules) \
    X(Model_getRule) X(Model_getNumReactions) X(Model_getReaction) X(Model_getNumEvents) \
    X(Model_getEvent) \
    X(Model_getNumConstraints) X(Model_getConstraint) \
    X(FunctionDefinition_getNumArguments) X(FunctionDefinition_getArgument) \
    X(FunctionDefinition_getBody) \
    X(Compartment_getSpatialDimensionsAsDouble) X(Compartment_isSetSpatialDimensions) \
    X(Compartment_isSetSize) \
    X(Compartment_getSize) X(Compartment_getConstant) \
    X(Species_getCompartment) X(Species_isSetInitialAmount) X(Species_getInitialAmount) \
    X(Species_isSetInitialConcentration) \
    X(Species_getInitialConcentration) X(Species_getHasOnlySubstanceUnits) \
    X(Species_getBoundaryCondition) \
    X(Species_getConstant) X(Species_getConversionFactor) \
    X(Parameter_isSetValue) X(Parameter_getValue) X(Parameter_getConstant) \
    X(InitialAssignment_getSymbol) X(InitialAssignment_getMath) X(Rule_getVariable) \
    X(Rule_getMath) X(Rule_isAlgebraic) \
    X(Rule_isRate) \
    X(Reaction_getNumReactants) X(Reaction_getReactant) X(Reaction_getNumProducts) \
    X(Reaction_getProduct) \
    X(Reaction_getKineticLaw) X(Reaction_getFast) X(KineticLaw_getMath) \
    X(KineticLaw_getNumParameters) \
    X(KineticLaw_getParameter) X(SpeciesReference_getSpecies) \
    X(SpeciesReference_getConstant) X(SpeciesReference_isSetStoichiometry) \
    X(SpeciesReference_getStoichiometry) X(SpeciesReference_getDenominator) \
    X(SpeciesReference_isSetStoichiometryMath) \
    X(SpeciesReference_getStoichiometryMath) X(StoichiometryMath_getMath) \
    X(Event_getTrigger) X(Event_getDelay) X(Event_getPriority) \
    X(Event_getUseValuesFromTriggerTime) \
    X(Event_getNumEventAssignments) X(Event_getEventAssignment) X(Trigger_getMath) \
    X(Trigger_getInitialValue) \
    X(Trigger_getPersistent) X(Delay_getMath) X(Priority_getMath) \
    X(EventAssignment_getVariable) X(EventAssignment_getMath) \
    X(ASTNode_getType) X(ASTNode_getNumChildren) X(ASTNode_getChild) X(ASTNode_getName) \
    X(ASTNode_getReal) \
    X(ASTNode_getInteger) X(ASTNode_getMantissa) X(ASTNode_getExponent) X(ASTNode_getNumerator) \
      X(ASTNode_getDenominator)

#define LIBRARY_MEMBER(name) __typeof__(&name) name;
struct library {
    LIBRARY_FUNCTIONS(LIBRARY_MEMBER)
};

/* STATUS_SYSTEM: it is not installed, or lacks a function. It stays loaded, as it keeps memory that
 * unloading would lose. One thread. */
enum status library_open(struct library *library, struct error *error);
#endif
