# SPDX-License-Identifier: GPL-2.0
#
# For the Kbuild of a module that uses an installed kdtl, whose folder this is:
#
#	obj-m := my_client.o
#	include /usr/src/kdtl/client.mk
#
# kdtl's headers, and the versions of its symbols in the kernel that the module is
# built for: as make install left them, or DKMS.

kdtl-client := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
kdtl-release := $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"$$/\1/p'	\
	$(objtree)/include/generated/utsrelease.h)
kdtl-symvers := $(firstword $(wildcard						\
	$(INSTALL_MOD_PATH)/lib/modules/$(kdtl-release)/extra/kdtl/Module.symvers	\
	/var/lib/dkms/kdtl/kernel-$(kdtl-release)-*/Module.symvers))
ifeq ($(kdtl-symvers),)
$(error kdtl is not installed for $(kdtl-release): make install, or dkms install kdtl -k $(kdtl-release))
endif

ccflags-y += -I$(kdtl-client)/include
KBUILD_EXTRA_SYMBOLS += $(kdtl-symvers)
