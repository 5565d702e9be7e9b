# stiffit: fits one stiff ODE model to thousands of datasets. `make help` lists the targets.
# SPDX-License-Identifier: BSD-3-Clause

CC ?= cc
CFLAGS ?= -O3 -g
LDFLAGS ?=
prefix ?= /usr/local
B := build
# SANITIZE=address|undefined|thread builds into a folder of its own.
ifdef SANITIZE
B := build/$(SANITIZE)
endif

PKG_CONFIG ?= pkg-config
PACKAGES := hdf5-serial liblbfgs nettle zlib
# Headers and libraries without a .pc file, and those with one. hdf5 is the plain name where Debian's split is not used.
HDF5_PC := $(shell $(PKG_CONFIG) --exists hdf5-serial 2>/dev/null && echo hdf5-serial || echo hdf5)
DEPS_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(HDF5_PC) liblbfgs nettle zlib 2>/dev/null)
DEPS_LIBS := $(shell $(PKG_CONFIG) --libs $(HDF5_PC) liblbfgs nettle zlib 2>/dev/null)
SUNDIALS_CFLAGS ?= $(shell $(PKG_CONFIG) --cflags mpi-c 2>/dev/null || $(PKG_CONFIG) --cflags ompi-c 2>/dev/null)
SUNDIALS_LIBS ?= -lsundials_cvodes
KLU_CFLAGS ?= $(if $(wildcard /usr/include/suitesparse/klu.h),-I/usr/include/suitesparse)
KLU_LIBS ?= -lklu

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith -Wno-format-truncation
ALL_CPPFLAGS := -Isrc -Iinclude -D_GNU_SOURCE $(DEPS_CFLAGS) $(SUNDIALS_CFLAGS) $(KLU_CFLAGS) $(CPPFLAGS)
ALL_CFLAGS := -std=c11 $(WARN) -fno-math-errno -pthread $(CFLAGS)
ALL_LDFLAGS := -pthread $(LDFLAGS)
LIBS := $(DEPS_LIBS) $(SUNDIALS_LIBS) $(KLU_LIBS) -ldl -lm
MODEL_CFLAGS ?= -O3 -march=native
ifdef SANITIZE
ALL_CFLAGS += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer
ALL_LDFLAGS += -fsanitize=$(SANITIZE)
endif
ifneq ($(V),1)
Q := @
endif

SOURCES := $(filter-out src/cli/main.c,$(wildcard src/*/*.c))
OBJECTS := $(SOURCES:%.c=$(B)/obj/%.o)
MODELS := $(patsubst models/%/,%,$(wildcard models/*/))
MODEL_LIBS := $(foreach m,$(MODELS),$(if $(wildcard models/$(m)/$(m).c),$(B)/models/$(m).so))
UNIT_TESTS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c tests/property/test_*.c tests/fault/test_*.c))
ZOO := $(patsubst tests/zoo/%.c,$(B)/tests/zoo/%.so,$(wildcard tests/zoo/*.c))

.PHONY: all
all: $(B)/stiffit $(MODEL_LIBS) ## build the program and the example models

$(B)/stiffit: $(B)/obj/src/cli/main.o $(B)/libstiffit.a
	@echo "  LINK    $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libstiffit.a: $(OBJECTS)
	@echo "  AR      $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/models/%.so: include/stiffit/model.h
	@mkdir -p $(@D)
	@echo "  MODEL   $@"
	$(Q)$(CC) -std=c11 $(MODEL_CFLAGS) -fPIC -shared -Iinclude -o $@ $(filter %.c,$^) -lm

$(foreach m,$(MODELS),$(eval $(B)/models/$(m).so: models/$(m)/$(m).c))

$(B)/tests/zoo/%.so: tests/zoo/%.c include/stiffit/model.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -O1 -fPIC -shared -Iinclude -o $@ $< -lm

$(B)/tests/%: tests/%.c $(B)/libstiffit.a
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -Wno-missing-prototypes -MMD -MP -MF $@.d $(ALL_LDFLAGS) -o $@ $< $(B)/libstiffit.a -lcmocka $(LIBS)

.PHONY: tests
tests: $(UNIT_TESTS) $(ZOO) all

-include $(OBJECTS:.o=.d) $(B)/obj/src/cli/main.d $(UNIT_TESTS:=.d)
