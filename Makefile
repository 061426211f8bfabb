# SPDX-License-Identifier: GPL-2.0
# Thin front of the build: kbuild does the work. `make help` lists the targets.

ARCH	?= $(shell uname -m | sed -e s/i.86/x86/ -e s/ppc64.*/powerpc/)
KDIR	?= /lib/modules/$(shell uname -r)/build
CONFIG	:= CONFIG_KDTL=m CONFIG_KDTL_SCHED=m CONFIG_KDTL_SAMPLER=m
ifeq ($(ARCH),powerpc)
CONFIG	+= CONFIG_KDTL_VPA=m
endif

modules:
	$(MAKE) -C $(KDIR) M=$(CURDIR) ARCH=$(ARCH) $(CONFIG) modules

clean:
	$(MAKE) -C $(KDIR) M=$(CURDIR) ARCH=$(ARCH) $(CONFIG) clean

.PHONY: modules clean
