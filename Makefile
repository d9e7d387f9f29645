# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The front door for people. What is built and how is in Kbuild.
#
#   make [KDIR=/any/configured/kernel/tree]   build rdma_rxe.ko here, by gcc or, if that
#                                             built the kernel, clang
#   make install                              into the modules of that kernel
#   make dkms-install [RELEASES=…]            for this and every later kernel
#   make probe                                ask the kernel only, and say what it lacks
#   make check                                the checks of the source itself
#   make clean

KDIR ?= /lib/modules/$(shell uname -r)/build

# the directory of this Makefile, whatever the caller's is
HERE := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))

# A kernel that clang built takes modules from clang only, and from none much older: of
# its own version, where that has a command of its own. Who names a compiler, as newer
# DKMS does, knows better.
ifeq ($(origin CC)$(origin LLVM),defaultundefined)
built-with = $(shell grep -sx CONFIG_$(1)=y $(KDIR)/include/config/auto.conf)
clang = $(shell v=$$(sed -n 's/^CONFIG_CLANG_VERSION=\(.*\)....$$/\1/p' \
	$(KDIR)/include/config/auto.conf); command -v clang-$$v >/dev/null && echo clang-$$v || echo clang)
compiler := $(if $(call built-with,CC_IS_CLANG),$(if $(call built-with,LD_IS_LLD),LLVM=1,CC=$(clang)))
endif

kbuild = $(MAKE) -C $(KDIR) M=$(HERE) $(compiler)

.PHONY: all install dkms-install probe check clean kdir

all: kdir
	+$(kbuild) modules

install: kdir
	+$(kbuild) INSTALL_MOD_DIR=updates modules_install
# packaged headers have no System.map, without which the kernel's rule leaves this out
ifndef INSTALL_MOD_PATH
	depmod -a $$(sed -n 's/^#define UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)
endif

dkms-install:
	$(HERE)/scripts/install $(addprefix -k ,$(RELEASES))

probe: kdir
	+@$(kbuild) RXE_PROBE_ONLY=1 modules
	@awk '$$1 == "#define" { n++; if (!$$3) { no++; print "  lacks", substr($$2, 10) } } \
	      END { print no + 0 " of " n " answers are no" }' \
		$(HERE)/compat/generated/rxe_features.h

check:
	$(HERE)/scripts/check-code

clean: kdir
	+$(kbuild) clean

# Say what is wrong with a KDIR before Kbuild says it in its own words.
kdir:
	@if [ ! -e "$(KDIR)" ]; then \
		echo "make: KDIR=$(KDIR) does not exist." >&2; \
		echo "  Install the headers of the running kernel" >&2; \
		echo "  (Debian: apt install linux-headers-$$(uname -r))," >&2; \
		echo "  or name a configured kernel tree: make KDIR=/path/to/linux" >&2; \
		exit 1; \
	elif [ ! -f "$(KDIR)/Makefile" ]; then \
		echo "make: KDIR=$(KDIR) is not a kernel tree (it has no Makefile)." >&2; \
		exit 1; \
	elif [ ! -f "$(KDIR)/include/config/auto.conf" ]; then \
		echo "make: KDIR=$(KDIR) is not a configured kernel tree" >&2; \
		echo "  (include/config/auto.conf is missing). Configure and build it first:" >&2; \
		echo "  make -C $(KDIR) olddefconfig && make -C $(KDIR) modules" >&2; \
		exit 1; \
	fi
