# SPDX-License-Identifier: GPL-2.0
# This file only calls kbuild and the scripts, which do the work. `make help` prints
# the lines that begin with ##, in this order.

ARCH	?= $(shell uname -m | sed -e s/i.86/x86/ -e s/ppc64.*/powerpc/	\
	     -e s/aarch64/arm64/ -e s/s390x/s390/ -e s/armv.*/arm/	\
	     -e s/riscv64/riscv/)
KDIR	?= /lib/modules/$(shell uname -r)/build

# Out of tree no .config has these options.
CONFIG	:= CONFIG_KDTL=m CONFIG_KDTL_COUNTERS=y CONFIG_KDTL_ANSWERS=m CONFIG_KDTL_SCHED=m	\
	   CONFIG_KDTL_STEAL=m CONFIG_KDTL_IRQ=m CONFIG_KDTL_WAKE=m CONFIG_KDTL_SAMPLER=m	\
	   CONFIG_KDTL_RECORDER=m CONFIG_KDTL_STREAM=m CONFIG_KDTL_TRACE=m CONFIG_KDTL_WATCH=m
ifeq ($(ARCH),powerpc)
CONFIG	+= CONFIG_KDTL_VPA=m CONFIG_KDTL_DTL=m
endif

## modules      build for KDIR, by default the running kernel
##              (cross: ARCH=powerpc CROSS_COMPILE=powerpc64le-linux-gnu- KDIR=...)
## clean        remove what modules made
.PHONY: modules clean
define no-kdir
There are no kernel headers in KDIR=$(KDIR). Install those of the
running kernel, or name another kernel's build tree with KDIR=:
    Debian, Ubuntu    apt install linux-headers-$(shell uname -r)
    Fedora, RHEL      dnf install kernel-devel-$(shell uname -r)
    SUSE              zypper install kernel-default-devel
    Arch              pacman -S linux-headers
endef
need-kdir = $(if $(wildcard $(KDIR)/Makefile),,$(error $(no-kdir)))
modules clean:
	$(need-kdir)
	$(MAKE) -C $(KDIR) M=$(CURDIR) ARCH=$(ARCH) $(CONFIG) $@

## tool         build kdtl(1), clients/stream/tool/kdtl: records and prints
.PHONY: tool
tool:
	$(MAKE) -C clients/stream/tool

## install      modules, headers and manual pages for clients, kdtl(1), what a fleet
##              needs; run make and make tool before; also PREFIX=/usr/local INSTALL_MOD_PATH= DESTDIR=
## uninstall    remove what install installed
## install-dkms put the sources into /usr/src, for dkms install kdtl/VERSION
.PHONY: install uninstall install-headers install-man install-fleet install-dkms
PREFIX	?= /usr/local
install:
	$(need-kdir)
	@KDIR='$(KDIR)' PREFIX='$(PREFIX)' INSTALL_MOD_PATH='$(INSTALL_MOD_PATH)' \
		DESTDIR='$(DESTDIR)' scripts/install
uninstall:
	@KDIR='$(KDIR)' PREFIX='$(PREFIX)' INSTALL_MOD_PATH='$(INSTALL_MOD_PATH)' \
		DESTDIR='$(DESTDIR)' scripts/install --uninstall
# Install the files from which DKMS builds the modules.
kdtl-version = $(shell sed -n 's/^## \([0-9][^ ]*\).*/\1/p' CHANGELOG.md | head -n 1)
DKMS	= $(DESTDIR)/usr/src/kdtl-$(kdtl-version)
install-dkms:
	install -D -m 644 -t $(DKMS) dkms.conf Kbuild Kconfig Makefile
	install -D -m 755 -t $(DKMS)/scripts scripts/dkms-post-build
	install -D -m 644 -t $(DKMS)/scripts scripts/kernels
	find core api clients -path clients/stream/tool -prune -o			\
		\( -name '*.[ch]' ! -name '*.mod.c' -o -name Kbuild \)			\
		-exec install -D -m 644 '{}' '$(DKMS)/{}' ';'
# The uapi headers go to two places: one for modules, and one where the compiler looks for
# the headers of programs.
install-headers:
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/src/kdtl api/client.mk
	sed -i 's|^kdtl-prefix := .*|kdtl-prefix := $(PREFIX)|' \
		$(DESTDIR)$(PREFIX)/src/kdtl/client.mk
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/src/kdtl/include/linux \
		$(wildcard api/include/linux/kdtl*.h)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/src/kdtl/include/uapi/linux \
		$(wildcard api/include/uapi/linux/kdtl*.h)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/linux \
		$(wildcard api/include/uapi/linux/kdtl*.h)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/kdtl/examples \
		$(wildcard clients/examples/*.[ch]) clients/examples/Kbuild
install-man:
	scripts/man $(DESTDIR)$(PREFIX)/share/man
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/kdtl $(wildcard Documentation/*.rst)
UNITDIR	?= $(PREFIX)/lib/systemd/system
install-fleet:
	install -D -m 644 -t $(DESTDIR)$(UNITDIR) clients/sampler/fleet/kdtl-metrics.service \
		clients/sampler/fleet/kdtl-metrics.timer
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/kdtl clients/sampler/fleet/kdtl.*

## demo         boot a VM and print which tasks waited for a CPU (ARCH=powerpc: as
##              a guest of a real hypervisor; also arm64, s390, arm, i386, riscv; PMU=kdtl_steal:
##              a guest of KVM on x86 or arm64); installs what is missing
.PHONY: demo
demo:
	@scripts/demo $(ARCH) $(PMU)

## check        all tests, in real kernels; ends with "N passed, N failed"
## check-quick  the most telling tests of each subject, x86-64 only
## check-prepare get and build all that check needs; check then needs no network
## check-deep   debug kernels, faults, torture, fuzzing: hours
## check-matrix build for every kernel of scripts/kernels, boot it and test
.PHONY: check check-prepare check-quick check-deep check-matrix
check:
	@selftests/check
check-prepare:
	@selftests/check --prepare
check-quick:
	@selftests/check --quick
check-deep:
	@selftests/check --deep
check-matrix:
	@selftests/check --deep matrix

## bench        measure kdtl side by side with other tracers
.PHONY: bench
bench:
	@selftests/bench/run

## release      VERSION=1.2.3: date CHANGELOG.md, debian/changelog; commit, tag, tarball
.PHONY: release
release:
	@scripts/release $(VERSION)

## docs         Documentation/output/index.html, with Sphinx and kernel-doc
.PHONY: docs
docs:
	@scripts/docs

## checkpatch   the newest kernel's checkpatch --strict, on all kernel code
## sparse       build with sparse, endianness too (KDIR as above, or a stock kernel)
.PHONY: checkpatch sparse
checkpatch:
	@scripts/checkpatch
sparse:
	@scripts/install-deps check
	$(MAKE) KDIR="$(or $(wildcard $(KDIR)),$$(scripts/kernel x86_64-6.1 kdir))"	\
		CONFIG_KDTL_SELFTESTS=m CONFIG_KDTL_EXAMPLES=m C=2 CF=-D__CHECK_ENDIAN__ modules

## cocci        look for misuse of kdtl, here or in a client (M=FOLDER; MODE=report,
##              patch, context or org)
.PHONY: cocci
cocci:
	@scripts/cocci $(if $(MODE),--mode $(MODE)) $(M)

.PHONY: help
help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))
