# stiffit: fits one stiff ODE model to thousands of datasets. `make help` lists the targets.
# SPDX-License-Identifier: BSD-3-Clause

# --- what a user may set ---------------------------------------------------------------------------------------------
CC ?= cc
CFLAGS ?= -O3 -g
LDFLAGS ?=
prefix ?= /usr/local
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib/stiffit
# Of libstiffit; libdir is that of parts which the program alone loads.
shlibdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
mandir ?= $(prefix)/share/man
datadir ?= $(prefix)/share
docdir ?= $(datadir)/doc/stiffit
pkgconfigdir ?= $(datadir)/pkgconfig
# LIBSTIFFIT= leaves the library out.
LIBSTIFFIT ?= libstiffit
PKG_CONFIG ?= pkg-config
OBJCOPY ?= objcopy
PYTHON ?= $(if $(wildcard /usr/bin/python3),/usr/bin/python3,python3)
NPROC := $(shell nproc 2>/dev/null || echo 2)
# SANITIZE=address|undefined|thread (or address,undefined) builds into a folder of its own; so does coverage.
comma := ,
B := build
ifdef SANITIZE
B := build/$(subst $(comma),-,$(SANITIZE))
endif
PC_PREFIX = $(prefix)
# What make bundle packs has its libraries in ../lib, wherever it is. DT_RPATH, unlike DT_RUNPATH, holds for the libraries'
# own libraries too.
ifdef BUNDLE
B := build/bundle/build
PORTABLE := 1
MPICC :=
LIBSTIFFIT :=
prefix :=
PC_PREFIX := $${pcfiledir}/../..
BUNDLE_LDFLAGS := -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib'
endif
# Models are compiled for this CPU; PORTABLE=1 makes them run on any of its kind.
MODEL_CFLAGS ?= -O3 $(if $(PORTABLE),,-march=native)
# Tests are compiled more often than they run.
TEST_CFLAGS ?= -O1

# --- libraries -------------------------------------------------------------------------------------------------------
# Debian calls the HDF5 without MPI hdf5-serial; there, plain hdf5 is the one with it.
HDF5_PC := $(shell $(PKG_CONFIG) --exists hdf5-serial 2>/dev/null && echo hdf5-serial || echo hdf5)
DEPS_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(HDF5_PC) liblbfgs nettle zlib 2>/dev/null)
DEPS_LIBS := $(shell $(PKG_CONFIG) --libs $(HDF5_PC) liblbfgs nettle zlib 2>/dev/null || \
	echo -lhdf5 -llbfgs -lnettle -lz)
# Debian's shared HDF5 loads some thirty more libraries (for cloud storage), 4 ms in each process, so the program takes its archive,
# where that links without them (see "archives" below). HDF5_ARCHIVE= (empty) keeps the shared library, as do sanitizers, whose
# reports name it.
HDF5_ARCHIVE ?= $(firstword $(wildcard $(patsubst -L%,%/libhdf5.a,$(filter -L%,$(DEPS_LIBS)))))
# SUNDIALS and KLU have no .pc file. SUNDIALS' headers want mpi.h where it was built with MPI.
SUNDIALS_CFLAGS ?= $(shell $(PKG_CONFIG) --cflags mpi-c 2>/dev/null || $(PKG_CONFIG) --cflags ompi-c 2>/dev/null)
KLU_CFLAGS ?= $(patsubst %/klu.h,-I%,$(firstword $(wildcard $(addsuffix /include/suitesparse/klu.h,\
	$(CONDA_PREFIX) $(HOMEBREW_PREFIX) /usr))))
KLU_LIBS ?= -lklu
# conda and Homebrew keep their headers and libraries where no compiler looks by itself.
PREFIXES := $(CONDA_PREFIX) $(HOMEBREW_PREFIX)
PREFIX_CFLAGS := $(addprefix -I,$(addsuffix /include,$(PREFIXES)))
PREFIX_LIBS := $(foreach p,$(PREFIXES),-L$(p)/lib -Wl,-rpath,$(p)/lib)
# Since version 7 SUNDIALS' context is in a library of its own, and SUN_COMM_NULL is a variable of MPI's. Where it was built with
# MPI, its shared library loads MPI and some thirty libraries of networks, 30 ms in each process, of which some install handlers of
# signals: then its archives are taken, if there are any. SUNDIALS_ARCHIVES= (empty) keeps the shared libraries.
ifndef SUNDIALS_LIBS
SUNDIALS_FOUND := $(shell echo SUNDIALS_VERSION_MAJOR SUNDIALS_MPI_ENABLED | $(CC) -E -P -x c \
	-include sundials/sundials_config.h $(PREFIX_CFLAGS) $(CPPFLAGS) $(SUNDIALS_CFLAGS) - 2>/dev/null | tail -n 1)
MPI_LIBS = $(shell $(PKG_CONFIG) --libs mpi-c 2>/dev/null || $(PKG_CONFIG) --libs ompi-c 2>/dev/null || echo -lmpi)
SUNDIALS_LIBS := -lsundials_cvodes $(if $(filter-out 6,$(word 1,$(SUNDIALS_FOUND))),-lsundials_core \
	$(if $(filter 1,$(word 2,$(SUNDIALS_FOUND))),$(MPI_LIBS)))
SUNDIALS_FOLDER = $(dir $(firstword $(wildcard $(patsubst -L%,%/libsundials_core.so,$(filter -L%,$(LDFLAGS) $(PREFIX_LIBS))) \
	$(shell $(CC) -print-file-name=libsundials_core.so))))
SUNDIALS_FOUND_ARCHIVES = $(wildcard $(addprefix $(SUNDIALS_FOLDER),libsundials_cvodes.a libsundials_core.a))
SUNDIALS_ARCHIVES ?= $(if $(filter $(firstword $(MPI_LIBS)),$(SUNDIALS_LIBS)),\
	$(if $(word 2,$(SUNDIALS_FOUND_ARCHIVES)),$(SUNDIALS_FOUND_ARCHIVES)))
endif

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith -Wno-format-truncation
ifneq ($(findstring clang,$(CC)),)
WARN += -Wno-unknown-warning-option
endif
ALL_CPPFLAGS = -Isrc -Iinclude -D_GNU_SOURCE $(DEPS_CFLAGS) $(SUNDIALS_CFLAGS) $(KLU_CFLAGS) $(PREFIX_CFLAGS) $(CPPFLAGS)
ALL_CFLAGS = -std=c11 $(WARN) -fno-math-errno -fPIC -fvisibility=hidden -pthread $(if $(BUNDLE),-include scripts/bundle.h) $(CFLAGS)
ALL_LDFLAGS = -pthread $(BUNDLE_LDFLAGS) $(LDFLAGS) $(PREFIX_LIBS)
SUNDIALS_LINKED = $(or $(addprefix $(B)/archives/,$(notdir $(SUNDIALS_ARCHIVES))),$(SUNDIALS_LIBS))
LIBS = $(DEPS_LIBS) $(SUNDIALS_LINKED) $(KLU_LIBS) -ldl -lm
ifdef SANITIZE
HDF5_ARCHIVE :=
SUNDIALS_ARCHIVES :=
ALL_CFLAGS += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer
ALL_LDFLAGS += -fsanitize=$(SANITIZE)
endif
ifneq ($(filter undefined%,$(subst $(comma), ,$(SANITIZE))),)
ALL_CFLAGS += -fno-sanitize-recover=undefined
endif
ifneq ($(V),1)
Q := @
endif

# --- what is built ---------------------------------------------------------------------------------------------------
SOURCES := $(filter-out src/cli/main.c,$(wildcard src/*/*.c src/*/*/*.c))
MODEL_HEADER := $(B)/obj/model_header
REPORT_FILES := $(B)/obj/report_files
GPU_KERNEL := $(B)/obj/gpu_kernel
MATHEMATICS := $(B)/obj/mathematics
TEMPLATES := $(B)/obj/model_templates
GENERATED := $(MODEL_HEADER).o $(REPORT_FILES).o $(GPU_KERNEL).o $(MATHEMATICS).o $(TEMPLATES).o
OBJECTS := $(SOURCES:%.c=$(B)/obj/%.o) $(GENERATED)
MODELS := $(patsubst models/%/,%,$(wildcard models/*/))
MODELS_C := $(foreach m,$(MODELS),$(if $(wildcard models/$(m)/$(m).c),$(m)))
MODELS_TEXT := $(foreach m,$(MODELS),$(if $(wildcard models/$(m)/$(m).ode),$(m)))
# NAME.so is the C version where there is one, else made from text; NAME.text.so is the text beside a C version.
MODEL_LIBS := $(patsubst %,$(B)/models/%.so,$(MODELS_C) $(filter-out $(MODELS_C),$(MODELS_TEXT)))
TEXT_LIBS := $(patsubst %,$(B)/models/%.text.so,$(filter $(MODELS_C),$(MODELS_TEXT)))
# Models of the tests themselves, as text: build/tests/models/NAME.so.
TEST_MODELS := $(patsubst tests/models/%.ode,$(B)/tests/models/%.so,$(wildcard tests/models/*.ode))
TESTS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c tests/property/test_*.c tests/fault/test_*.c))
ZOO := $(patsubst tests/zoo/%.c,$(B)/tests/zoo/%.so,$(wildcard tests/zoo/*.c))
# What tests in Python run: a fuzz target as a plain program, a writer of many models' C sources, stiffit with other engines.
ENGINES := $(addprefix $(B)/tests/engine/stiffit-,four failing lanes failing-lanes wrong-lanes noisy-lanes)
TEST_TOOLS := $(B)/tests/fuzz/fuzz_text $(addprefix $(B)/tests/property/,write_model_sources judge_lanes judge_turns simulate_events evaluate_many) $(ENGINES)
BENCHES := $(patsubst scripts/bench/%.c,$(B)/bench/%,$(wildcard scripts/bench/bench_*.c))

ARCHIVES := $(addprefix $(B)/archives/,$(notdir $(HDF5_ARCHIVE) $(SUNDIALS_ARCHIVES)))

.PHONY: all
all: $(B)/stiffit $(LIBSTIFFIT) $(MODEL_LIBS) mpi ## build the program and the example models (the default)

$(B)/stiffit: $(B)/obj/src/cli/main.o $(B)/libstiffit.a
	@echo "  LINK    $@"
	$(Q)$(if $(HDF5_ARCHIVE),$(CC) $(ALL_LDFLAGS) -o $@ $^ $(patsubst -lhdf5%,$(B)/archives/libhdf5.a -lsz,$(LIBS)) 2>/dev/null || )\
		$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libstiffit.a: $(OBJECTS) | $(ARCHIVES)
	@echo "  AR      $@"
	$(Q)rm -f $@ && $(AR) qcs $@ $^

# Copies of archives, in which functions of MPI and of cloud storage may be missing: SUNDIALS calls MPI only for a communicator, HDF5
# those of libcurl and libcrypto only for files in a cloud, and there are none here. What the program is linked with resolves them
# all the same, if it has them. src/ode/cvodes.c replaces CVODES' cvProcessError.
define ARCHIVE
$(B)/archives/$(notdir $(1)): $(1)
	@mkdir -p $$(@D)
	$$(Q)$$(OBJCOPY) --wildcard $(foreach w,MPI_* ompi_mpi_* curl_* EVP_* HMAC SHA256 cvProcessError,--weaken-symbol='$(w)') $$< $$@
endef
$(foreach a,$(HDF5_ARCHIVE) $(SUNDIALS_ARCHIVES),$(eval $(call ARCHIVE,$(a))))

# libstiffit as it is installed: of the archive what the functions of stiffit/stiffit.h need, whose names alone are visible,
# also in the static library, which is one object. (Visibility hides most names, but not the resolvers of functions that are
# compiled for several CPUs.) It takes the shared HDF5, because the archive's code is not position-independent.
LIBRARY_OBJECTS := $(patsubst %.c,$(B)/obj/%.o,$(wildcard src/library/*.c))
SONAME := libstiffit.so.0
$(B)/$(SONAME): $(LIBRARY_OBJECTS) $(B)/libstiffit.a
	@echo "  LINK    $@"
	$(Q)echo '{ global: stiffit_*; local: *; };' >$@.map
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$@.map $(if $(SANITIZE),,-Wl,-z,defs) \
		-Wl,--as-needed -o $@ $^ $(LIBS)
$(B)/libstiffit.so: $(B)/$(SONAME)
	$(Q)ln -sf $(SONAME) $@
$(B)/static/libstiffit.a: $(LIBRARY_OBJECTS) $(B)/libstiffit.a
	@mkdir -p $(@D)
	@echo "  AR      $@"
	$(Q)$(LD) -r -o $(@D)/stiffit.o $^ && \
		$(OBJCOPY) --localize-hidden --wildcard --keep-global-symbol='stiffit_*' $(@D)/stiffit.o
	$(Q)rm -f $@ && $(AR) qcs $@ $(@D)/stiffit.o

$(B)/obj/%.o: %.c | $(B)/dependencies.found
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The kernel of the lanes is compiled for several widths of registers, all of which must give the same bits.
X86 := $(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null))
LANES := $(B)/obj/src/ode/lanes/kernel
$(LANES).o $(LANES)_v3.o $(LANES)_v4.o: ALL_CFLAGS += -ffp-contract=off -fno-trapping-math -Wno-psabi
$(LANES)_v3.o: ALL_CFLAGS += $(if $(X86),-march=x86-64-v3)
$(LANES)_v4.o: ALL_CFLAGS += $(if $(X86),-march=x86-64-v4 -mprefer-vector-width=512)

# The program carries the text of stiffit/model.h, for compiling models: a string with a line of it on each line.
$(MODEL_HEADER).c: include/stiffit/model.h
	@mkdir -p $(@D)
	$(Q){ echo '#include "model/build/compile.h"' && echo 'const char compile_model_header[] =' && \
		sed -e 's/[\\"]/\\&/g' -e 's/^/    "/' -e 's/$$/\\n"/' $< && echo '    ;'; } >$@.tmp && mv $@.tmp $@

# The text of the kernel for GPUs is compiled where it runs; a part of it is that of lanes, too.
GPU_TEXT := src/ode/gpu/words.cl src/ode/lanes/method.h src/ode/lanes/kernel_constants.h src/ode/tolerance_constants.h \
	$(patsubst %,src/ode/lanes/step_%.h,numbers stops control sign implicit explicit inside) src/ode/gpu/kernel.cl
AS_STRING := sed -e '/^\#include/d' -e '/^\#pragma once/d' -e 's/[\\"]/\\&/g' -e 's/^/    "/' -e 's/$$/\\n"/'
$(GPU_KERNEL).c: src/ode/gpu/prelude.cl $(GPU_TEXT)
	@mkdir -p $(@D)
	$(Q){ echo 'extern const char gpu_prelude[], gpu_kernel[];' && \
		echo 'const char gpu_prelude[] =' && $(AS_STRING) src/ode/gpu/prelude.cl && echo '    ;' && \
		echo 'const char gpu_kernel[] =' && $(AS_STRING) $(GPU_TEXT) && echo '    ;'; } >$@.tmp && mv $@.tmp $@

# Functions that models are compiled with: a string for each part, which begins with a line "/* @@ NAME */".
$(MATHEMATICS).c: src/model/generate/mathematics.cl
	@mkdir -p $(@D)
	$(Q){ echo '#include "model/generate/mathematics.h"' && \
		sed -n -e '/^\/\* @@/,$$p' $< | sed -e 's/[\\"]/\\&/g' -e 's/^/    "/' -e 's/$$/\\n"/' \
		-e '2,$$s/^    "\/\* @@ \(.*\) \*\/\\n"$$/    ;\nconst char mathematics_\1[] =/' \
		-e '1s/^    "\/\* @@ \(.*\) \*\/\\n"$$/const char mathematics_\1[] =/' && echo '    ;'; } >$@.tmp && mv $@.tmp $@

# The templates of `stiffit model new`: what models/library holds, in the order of the names.
LIBRARY := $(sort $(patsubst models/library/%.ode,%,$(wildcard models/library/*.ode)))
$(TEMPLATES).c: $(LIBRARY:%=models/library/%.ode) models/library
	@mkdir -p $(@D)
	$(Q){ echo '#include "cli/model_templates.h"' && echo 'const char *const model_template_name[] = {' && \
		printf '    "%s",\n' $(LIBRARY) && echo '    0};' && \
		echo 'const char *const model_template_text[] = {' && for f in $(LIBRARY); do \
		sed -e 's/[\\"]/\\&/g' -e 's/^/    "/' -e 's/$$/\\n"/' models/library/$$f.ode && echo '    ,'; done && echo '};'; } \
		>$@.tmp && mv $@.tmp $@

# Pages of `stiffit report` carry their style, their script and a library of charts, as text. The library is Chart.js (MIT): the
# smallest maintained one in Debian that draws scatter plots, bars and lines with logarithmic axes by itself (200 KB; d3 draws no
# charts, plotly has 3 MB, vega is three libraries, flot needs jQuery; uPlot is not in Debian 12). Without it pages have tables
# alone. CHART_JS names another place.
CHART_JS ?= $(firstword $(wildcard /usr/share/javascript/chart.js/chart.min.js /usr/share/nodejs/chart.js/dist/chart.min.js))
$(REPORT_FILES).c: src/use/report.css src/use/report.js $(CHART_JS) $(B)/chart.place
	@mkdir -p $(@D)
	$(Q){ echo '#include "use/report_parts.h"' && for f in css:src/use/report.css js:src/use/report.js charts:$(CHART_JS); do \
		echo "const char report_$${f%%:*}[] = \"\"" && { [ -z "$${f#*:}" ] || grep -v '^//# sourceMapping' "$${f#*:}" | \
		od -An -v -to1 | sed 's/ /\\/g; s/.*/"&"/'; } && echo ';'; done; } >$@.tmp && mv $@.tmp $@
$(B)/chart.place: FORCE
	@mkdir -p $(@D)
	@echo '$(CHART_JS)' | cmp -s - $@ || echo '$(CHART_JS)' >$@

$(GENERATED): %.o: %.c | $(B)/dependencies.found
	@echo "  CC      $<"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# YAML, and with it PEtab, is read where libyaml is found.
YAML_FOUND := $(shell echo | $(CC) -E -x c -include yaml.h $(PREFIX_CFLAGS) $(CPPFLAGS) - >/dev/null 2>&1 && echo -DHAVE_YAML)
LIBS += $(if $(YAML_FOUND),-lyaml)
YAML_OBJECTS := $(B)/obj/src/petab/files.o
$(YAML_OBJECTS): ALL_CPPFLAGS += $(YAML_FOUND)

# SBML is read where libSBML's headers are found; the library itself is loaded when it is needed.
SBML_FOUND := $(shell echo | $(CC) -E -x c -include sbml/SBMLTypes.h $(PREFIX_CFLAGS) $(CPPFLAGS) - >/dev/null 2>&1 && \
	echo -DHAVE_LIBSBML)
SBML_OBJECTS := $(filter $(B)/obj/src/sbml/%,$(OBJECTS))
$(SBML_OBJECTS): ALL_CPPFLAGS += $(SBML_FOUND)
$(SBML_OBJECTS): $(B)/sbml.flags
$(B)/sbml.flags: FORCE
	@mkdir -p $(@D)
	@echo '$(SBML_FOUND)' | cmp -s - $@ || echo '$(SBML_FOUND)' >$@

# A fit over many datasets may run on many machines where mpicc is found, OpenMPI's or MPICH's: MPICC names it, MPICC= leaves it out.
MPICC ?= $(shell echo '\#include <mpi.h>' | mpicc -E -x c - >/dev/null 2>&1 && echo mpicc)
$(B)/stiffit-mpi.so: src/run/supervise/mpi/mpi.c src/run/supervise/ranks_mpi.h $(B)/mpi.compiler
	@echo "  MPICC   $@"
	$(Q)$(MPICC) -Isrc -std=c11 $(WARN) $(CFLAGS) -fPIC -shared -o $@ $<
$(B)/mpi.compiler: FORCE
	@mkdir -p $(@D)
	@echo '$(MPICC)' | cmp -s - $@ || echo '$(MPICC)' >$@
MPI_PART := $(if $(MPICC),$(B)/stiffit-mpi.so)

# Recompile what was compiled with other flags.
$(OBJECTS) $(B)/obj/src/cli/main.o: $(B)/flags
FLAGS_NOW = $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_NOW)' >$@

$(B)/models/%.so: include/stiffit/model.h
	@mkdir -p $(@D)
	@echo "  MODEL   $@"
	$(Q)$(CC) -std=c11 $(MODEL_CFLAGS) -fPIC -shared -Iinclude -o $@ $(filter %.c,$^) -lm
$(foreach m,$(MODELS_C),$(eval $(B)/models/$(m).so: models/$(m)/$(m).c))

# The program itself is no prerequisite but what compiles text in it: else each new program would compile all models anew.
define TEXT_MODEL
$(B)/models/$(1)$(if $(filter $(1),$(MODELS_C)),.text).so: models/$(1)/$(1).ode $(wildcard src/model/*/*.[ch]) | $(B)/stiffit
	@mkdir -p $$(@D)
	@echo "  MODEL   $$@"
	$$(Q)CC='$$(CC)' $(B)/stiffit model build --quiet --no-cache $(if $(PORTABLE),--portable) -o $$@ $$<
endef
$(foreach m,$(MODELS_TEXT),$(eval $(call TEXT_MODEL,$(m))))

$(B)/tests/models/%.so: tests/models/%.ode $(wildcard src/model/*/*.[ch]) | $(B)/stiffit
	@mkdir -p $(@D)
	@echo "  MODEL   $@"
	$(Q)CC='$(CC)' $(B)/stiffit model build --quiet --no-cache -o $@ $<

$(B)/tests/zoo/%.so: tests/zoo/%.c include/stiffit/model.h
	@mkdir -p $(@D)
	@echo "  ZOO     $@"
	$(Q)$(CC) -std=c11 -O1 -fPIC -shared -Iinclude -o $@ $< -lm

$(B)/tests/%: tests/%.c $(B)/libstiffit.a
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(TEST_CFLAGS) -fvisibility=default -Wno-missing-prototypes -MMD -MP -MF $@.d $(ALL_LDFLAGS) -o $@ $< \
		$(B)/libstiffit.a -lcmocka $(LIBS)

# It tells SUNDIALS' own allocations by the library that they come from.
$(B)/tests/fault/test_ode_allocation: private SUNDIALS_LINKED = $(SUNDIALS_LIBS)

# The object that defines engine_in_use comes before the archive, which is then not asked for its own.
$(filter %failing %failing-lanes,$(ENGINES)): private ALL_CPPFLAGS += -DBAD=FAILS
$(filter %wrong-lanes,$(ENGINES)): private ALL_CPPFLAGS += -DBAD=WRONG
$(filter %noisy-lanes,$(ENGINES)): private ALL_CPPFLAGS += -DBAD=NOISY
$(filter %lanes,$(ENGINES)): private ALL_CPPFLAGS += -DSTANDS_IN
$(ENGINES): tests/engine/four.c $(B)/obj/src/cli/main.o $(B)/libstiffit.a
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -MF $@.d $(ALL_LDFLAGS) -o $@ $< $(B)/obj/src/cli/main.o \
		$(B)/libstiffit.a $(LIBS)

$(B)/tests/fuzz/%: tests/fuzz/%.c $(B)/libstiffit.a
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -DFUZZ_STANDALONE -MMD -MP -MF $@.d $(ALL_LDFLAGS) -o $@ $< \
		$(B)/libstiffit.a $(LIBS)

# The fuzzer itself: everything that it reads is compiled for it. Only clang brings libFuzzer.
FUZZED := $(wildcard src/model/text/*.c src/model/graph/*.c src/model/generate/*.c src/base/*.c)
$(B)/fuzz/%: tests/fuzz/%.c $(FUZZED) $(wildcard $(addsuffix *.h,$(sort $(dir $(FUZZED)))))
	@mkdir -p $(@D)
	@echo "  FUZZ    $@"
	$(Q)clang $(ALL_CPPFLAGS) -std=c11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-o $@ $< $(FUZZED) $(LIBS)

# Written for this CPU alone.
$(B)/bench/bench_limit_%: private ALL_CFLAGS += $(if $(X86),-march=native) -ffp-contract=fast -Wno-psabi
$(B)/bench/%: scripts/bench/%.c $(B)/libstiffit.a
	@mkdir -p $(@D)
	@echo "  BENCH   $@"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -MF $@.d $(ALL_LDFLAGS) -o $@ $< $(B)/libstiffit.a $(LIBS)

-include $(OBJECTS:.o=.d) $(B)/obj/src/cli/main.d $(TESTS:=.d) $(TEST_TOOLS:=.d) $(BENCHES:=.d)

# Plain make installs nothing: it names what is missing.
# (Nothing is exported: what is found out before packages are installed would hide from a second make what is there then.)
INSTALL_DEPS = CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' PYTHON='$(PYTHON)' CPPFLAGS='$(CPPFLAGS)' LDFLAGS='$(LDFLAGS)' \
	SUNDIALS_CFLAGS='$(SUNDIALS_CFLAGS)' SUNDIALS_LIBS='$(SUNDIALS_LIBS)' KLU_CFLAGS='$(KLU_CFLAGS)' scripts/install-deps
$(B)/dependencies.found: scripts/install-deps
	@mkdir -p $(@D)
	@NO_INSTALL=1 $(INSTALL_DEPS) build
	@touch $@

.PHONY: tests benches FORCE mpi libstiffit
libstiffit: $(B)/libstiffit.so $(B)/static/libstiffit.a
mpi: $(MPI_PART)
tests: $(TESTS) $(TEST_TOOLS) $(ZOO) $(TEXT_LIBS) $(TEST_MODELS) all
benches: $(BENCHES) $(TEXT_LIBS) all
FORCE:

# --- what a user calls -----------------------------------------------------------------------------------------------
# These may install packages, so everything else runs in a second make that sees them. It uses all CPUs unless told -j.
SUBMAKE = +$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(NPROC))
TEST_ENV = STIFFIT_BUILD=$(B) PYTHON=$(PYTHON)

.PHONY: demo
demo: ## install what is missing, build, and fit real data and a thousand bootstrap datasets
	$(Q)$(INSTALL_DEPS) build
	$(SUBMAKE) all
	$(Q)$(TEST_ENV) scripts/demo

.PHONY: check
check: ## install what is missing, build, and run lint and the quick tests of every promise (a few minutes)
	$(Q)$(INSTALL_DEPS) check
	$(SUBMAKE) lint tests
	$(Q)$(TEST_ENV) STIFFIT_LEVEL=quick $(PYTHON) tests/run

.PHONY: check-more
check-more: ## the tests that check leaves out: harder and wider forms (some ten minutes)
	$(Q)$(INSTALL_DEPS) check
	$(SUBMAKE) tests benches
	$(Q)$(TEST_ENV) STIFFIT_LEVEL=more $(PYTHON) tests/run

.PHONY: check-bad-input
check-bad-input: ## the C programs and the tests with bad input under the address and undefined sanitizers (a few minutes)
	$(Q)$(INSTALL_DEPS) check
	$(SUBMAKE) SANITIZE=address,undefined CFLAGS="-O1 -g" tests
	$(Q)STIFFIT_BUILD=build/address-undefined STIFFIT_SANITIZE=address-undefined PYTHON=$(PYTHON) $(PYTHON) tests/run --bad-input

.PHONY: check-engines
check-engines: ## the end-to-end tests in lanes: taken by default, and asked for; and on a device of OpenCL (an hour)
	$(SUBMAKE) tests
	$(Q)$(TEST_ENV) $(PYTHON) tests/run --engine auto
	$(Q)$(TEST_ENV) $(PYTHON) tests/run --engine lanes
	$(Q)$(TEST_ENV) $(PYTHON) tests/run --engine gpu

.PHONY: check-slurm
check-slurm: ## shards on a real SLURM of four virtual nodes, brought up and down here (two minutes; root)
	$(Q)$(INSTALL_DEPS) slurm || [ "$$(id -u)" -ne 0 ]
	$(SUBMAKE) all
	$(Q)$(TEST_ENV) $(PYTHON) tests/run --slurm

.PHONY: check-all
check-all: ## all tests in their long forms, and the sanitizers (some hours)
	$(Q)$(INSTALL_DEPS) all
	$(SUBMAKE) lint tests benches
	$(Q)$(TEST_ENV) STIFFIT_LEVEL=slow $(PYTHON) tests/run --timeout 1800
	$(Q)$(MAKE) --no-print-directory check-tidy check-engines check-coverage check-sanitize

.PHONY: check-tidy
check-tidy: ## clang-tidy over src/, with the checks that find faults here (ten minutes)
	$(SUBMAKE) all
	$(Q)STIFFIT_BUILD=$(B) scripts/tidy

# gcc's runtimes for address and undefined; clang's for thread, as gcc's has room for few coroutines only.
.PHONY: check-sanitize check-address check-undefined check-thread
check-sanitize: check-address check-undefined check-thread ## the tests under the address, undefined and thread sanitizers
check-address check-undefined: check-%:
	$(SUBMAKE) SANITIZE=$* CFLAGS="-O1 -g" tests
	$(Q)STIFFIT_BUILD=build/$* STIFFIT_SANITIZE=$* PYTHON=$(PYTHON) $(PYTHON) tests/run --timeout 1800
check-thread:
	$(SUBMAKE) SANITIZE=thread CC=clang CFLAGS="-O1 -g" tests
	$(Q)STIFFIT_BUILD=build/thread STIFFIT_SANITIZE=thread PYTHON=$(PYTHON) $(PYTHON) tests/run --timeout 1800

.PHONY: bench bench-million
bench: ## measure against other tools; prints ratios and writes build/bench.json (some twenty minutes)
bench-million: ## a million fits, into build/bench.json
bench-million: BENCH_WORDS = whole-million
bench bench-million:
	$(Q)$(INSTALL_DEPS) check
	$(SUBMAKE) all benches
	$(Q)$(TEST_ENV) $(PYTHON) scripts/bench/bench.py $(BENCH_WORDS)

# From the objects it finds circles of calls.
.PHONY: lint
lint: $(OBJECTS) ## check layers, circles of calls, file lengths, scripts and manual pages
	$(Q)scripts/lint

# The floors hold for these programs: the C ones, and those end-to-end tests that reach most for their time.
COVERED := tests/unit tests/fault $(addprefix tests/e2e/test_,cli columns compare crash evaluate gpu import lanes. library merge \
	mixed_errors mixed_occasions model_build model_commands names objectives petab. petab_details plot population profile \
	random_compare random_diagnostics random_options random_show ranks. report residuals row_filter run_options sbml \
	shared. shared_groups shared_laplace shared_lbfgs shared_profile shared_sample simulate_tables starts studies submit trust)

.PHONY: coverage check-coverage
coverage: ## line coverage of src/ by the tests, into build/coverage
coverage: COVERED =
check-coverage: ## whether each folder of src/ has the coverage of scripts/coverage-floors by a part of the tests (twenty minutes)
check-coverage: FLOORS = --floors
coverage check-coverage:
	$(SUBMAKE) B=build/coverage CFLAGS="-O0 -g --coverage" LDFLAGS="--coverage $(LDFLAGS)" tests
	$(Q)find build/coverage -name '*.gcda' -delete
	$(Q)STIFFIT_BUILD=build/coverage PYTHON=$(PYTHON) $(PYTHON) tests/run --timeout 1800 $(COVERED)
	$(Q)scripts/coverage $(FLOORS) build/coverage

# --- installing ------------------------------------------------------------------------------------------------------
MAN_PAGES := $(wildcard man/*.[1-8])
COMPLETIONS = $(addprefix $(B)/completion/,bash zsh fish)
$(COMPLETIONS): $(B)/completion/%: $(B)/stiffit
	@mkdir -p $(@D)
	$(Q)$(B)/stiffit help --completion $* >$@.tmp && mv $@.tmp $@

VERSION = $(shell sed -n 's/^.define STIFFIT_VERSION "\(.*\)"/\1/p' src/base/version.h)
# What install puts where: its file here, and under DESTDIR. The folders may have blanks, which end a word of make's.
blank := $(subst ,, )
hidden = $(subst $(blank),<blank>,$($(1)))
shown = $(subst <blank>,$(blank),$(1))
INSTALLED = include/stiffit/model.h:$(call hidden,includedir)/stiffit/model.h \
	$(if $(LIBSTIFFIT),include/stiffit/stiffit.h:$(call hidden,includedir)/stiffit/stiffit.h \
		$(B)/static/libstiffit.a:$(call hidden,shlibdir)/libstiffit.a) \
	$(foreach m,$(MAN_PAGES),$(m):$(call hidden,mandir)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) \
	$(B)/completion/bash:$(call hidden,datadir)/bash-completion/completions/stiffit \
	$(B)/completion/zsh:$(call hidden,datadir)/zsh/site-functions/_stiffit \
	$(B)/completion/fish:$(call hidden,datadir)/fish/vendor_completions.d/stiffit.fish \
	LICENSE:$(call hidden,docdir)/LICENSE \
	$(foreach f,$(filter-out %.py,$(wildcard models/*/*)),$(f):$(call hidden,docdir)/examples/$(f:models/%=%)) \
	$(if $(LIBSTIFFIT),$(foreach f,$(wildcard scripts/examples/*),$(f):$(call hidden,docdir)/examples/$(notdir $(f)))) \
	$(foreach f,$(wildcard data/*.csv),$(f):$(call hidden,docdir)/examples/$(notdir $(f))) \
	$(foreach f,$(wildcard scripts/slurm/*),$(f):$(call hidden,docdir)/examples/slurm/$(notdir $(f)))
PC_FILE = $(DESTDIR)$(pkgconfigdir)/stiffit.pc
LIBRARY_PC_FILE = $(DESTDIR)$(shlibdir)/pkgconfig/libstiffit.pc
of_prefix = $(call shown,$(patsubst $(call hidden,prefix)/%,$${prefix}/%,$(call hidden,$(1))))

.PHONY: install uninstall
install: $(B)/stiffit $(LIBSTIFFIT) mpi $(COMPLETIONS) ## install program, library, headers, manual pages, examples, completions, .pc files, licence
	install -D -m 755 $(B)/stiffit '$(DESTDIR)$(bindir)/stiffit'
	$(if $(MPI_PART),install -D -m 755 $(MPI_PART) '$(DESTDIR)$(libdir)/stiffit-mpi.so')
	$(foreach i,$(INSTALLED),install -D -m 644 $(call shown,$(subst :, '$(DESTDIR),$(i))') &&) :
	install -d '$(DESTDIR)$(pkgconfigdir)'
	printf '%s\n' 'prefix=$(PC_PREFIX)' 'includedir=$(call of_prefix,includedir)' '' 'Name: stiffit' \
		'Description: header for models of stiffit, which fits one stiff ODE model to many datasets' \
		'Version: $(VERSION)' 'Cflags: -I"$${includedir}"' >'$(PC_FILE)'
	$(if $(LIBSTIFFIT),$(INSTALL_LIBRARY))

define INSTALL_LIBRARY
install -D -m 755 $(B)/$(SONAME) '$(DESTDIR)$(shlibdir)/$(SONAME)'
ln -sf $(SONAME) '$(DESTDIR)$(shlibdir)/libstiffit.so'
install -d '$(DESTDIR)$(shlibdir)/pkgconfig'
printf '%s\n' 'prefix=$(PC_PREFIX)' 'includedir=$(call of_prefix,includedir)' 'libdir=$(call of_prefix,shlibdir)' '' \
	'Name: libstiffit' 'Description: fits and evaluations of stiff ODE models in memory' 'Version: $(VERSION)' \
	'Cflags: -I"$${includedir}"' 'Libs: -L"$${libdir}" -lstiffit' \
	'Libs.private: $(subst $(SUNDIALS_LINKED),$(SUNDIALS_LIBS),$(LIBS)) -pthread' >'$(LIBRARY_PC_FILE)'
endef

uninstall: ## remove what install has put there
	rm -f '$(DESTDIR)$(bindir)/stiffit' '$(DESTDIR)$(libdir)/stiffit-mpi.so' '$(PC_FILE)' '$(LIBRARY_PC_FILE)' \
		'$(DESTDIR)$(shlibdir)/$(SONAME)' '$(DESTDIR)$(shlibdir)/libstiffit.so' \
		$(foreach i,$(INSTALLED),'$(DESTDIR)$(call shown,$(lastword $(subst :, ,$(i))))')
	-rmdir '$(DESTDIR)$(includedir)/stiffit' 2>/dev/null
	-find '$(DESTDIR)$(docdir)' -depth -type d -empty -delete 2>/dev/null

.PHONY: dist
dist: ## a tarball of the sources, build/stiffit-VERSION.tar.gz
	$(Q)scripts/dist $(VERSION) build/stiffit-$(VERSION).tar.gz

.PHONY: deb
deb: ## a Debian package, build/deb/stiffit_VERSION-1_ARCH.deb
	$(Q)scripts/make-deb $(VERSION) build/deb

BUNDLE_FOLDER = build/bundle/stiffit-$(VERSION)-linux-$(shell uname -m)
.PHONY: bundle
bundle: ## the program with its libraries for machines without root, build/bundle/stiffit-VERSION-linux-MACHINE.tar.gz
	$(Q)rm -rf $(BUNDLE_FOLDER)
	$(SUBMAKE) BUNDLE=1 all
	$(SUBMAKE) BUNDLE=1 -s DESTDIR=$(BUNDLE_FOLDER) install
	$(Q)scripts/make-bundle $(VERSION) $(BUNDLE_FOLDER)

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: help
help: ## this list
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "Settings: CC CFLAGS LDFLAGS prefix DESTDIR V=1 SANITIZE=address|undefined|thread PORTABLE=1 NO_INSTALL=1"
	@echo "          SUNDIALS_CFLAGS SUNDIALS_LIBS SUNDIALS_ARCHIVES HDF5_ARCHIVE KLU_CFLAGS KLU_LIBS MPICC LIBSTIFFIT PKG_CONFIG PYTHON"
