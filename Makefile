# SPDX-License-Identifier: GPL-2.0
# Thin front: kbuild and the scripts do the work. `make help` says what there is.

ARCH	?= $(shell uname -m | sed -e s/i.86/x86/ -e s/ppc64.*/powerpc/)
KDIR	?= /lib/modules/$(shell uname -r)/build

# Out of tree there is no .config to ask.
CONFIG	:= CONFIG_KDTL=m CONFIG_KDTL_SCHED=m CONFIG_KDTL_SAMPLER=m	\
	   CONFIG_KDTL_RECORDER=m CONFIG_KDTL_STREAM=m CONFIG_KDTL_WATCH=m	\
	   CONFIG_KDTL_SELFTESTS=m
ifeq ($(ARCH),powerpc)
CONFIG	+= CONFIG_KDTL_VPA=m
endif

modules clean:
	$(MAKE) -C $(KDIR) M=$(CURDIR) ARCH=$(ARCH) $(CONFIG) $@

tool:
	$(MAKE) -C clients/stream/tool

demo:
	@scripts/demo $(ARCH)

check:
	@selftests/check

bench:
	@selftests/bench/run

check-quick:
	@selftests/check --quick

check-deep:
	@selftests/check --deep

cocci:
	@scripts/cocci $(if $(MODE),--mode $(MODE)) $(M)

help:
	@echo 'modules      build for KDIR=$(KDIR)'
	@echo '             (cross: ARCH=powerpc CROSS_COMPILE=powerpc64le-linux-gnu- KDIR=...)'
	@echo 'tool         build kdtl(1), clients/stream/tool/kdtl: records and prints'
	@echo 'demo         boot a VM and print who waited for a CPU (ARCH=powerpc: as a'
	@echo '             guest of a real hypervisor); installs what is missing'
	@echo 'check        all tests, in real kernels; ends with "N passed, N failed"'
	@echo 'check-quick  the same in under five minutes, x86-64 only'
	@echo 'check-deep   debug kernels, faults, torture, fuzzing: hours'
	@echo 'bench        measure, side by side with other tracers'
	@echo 'cocci        look for misuse of kdtl, here or in a client (M=FOLDER; MODE=report,'
	@echo '             patch, context or org)'
	@echo 'clean        remove what modules made'

.PHONY: modules clean tool demo check check-quick check-deep bench cocci help
