# SPDX-License-Identifier: GPL-2.0
#
# For the Kbuild of a module that uses an installed kdtl, whose folder this is:
#
#	obj-m := my_client.o
#	include /usr/src/kdtl/client.mk
#
# It adds kdtl's headers, and the versions of kdtl's symbols in the kernel that the module
# is built for, from where make install or DKMS has put them.

kdtl-client := $(patsubst %/,%,$(abspath $(dir $(lastword $(MAKEFILE_LIST)))))
kdtl-release := $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"$$/\1/p'	\
	$(objtree)/include/generated/utsrelease.h)

# If make install had a DESTDIR, all is below it, so look there first. It also sets kdtl-prefix.
kdtl-prefix := /usr/local
kdtl-root := $(patsubst %$(kdtl-prefix)/src/kdtl,%/,$(kdtl-client))
kdtl-places := $(foreach r,$(kdtl-root) $(filter-out $(kdtl-root),/),		\
	$(r:/=)$(INSTALL_MOD_PATH)/lib/modules/$(kdtl-release)/extra/kdtl	\
	$(r:/=)/var/lib/dkms/kdtl/kernel-$(kdtl-release)-*)
kdtl-symvers := $(firstword $(wildcard $(addsuffix /Module.symvers,$(kdtl-places))))

define kdtl-missing
kdtl is not installed for $(kdtl-release). There is no Module.symvers in$(foreach p,$(kdtl-places),
    $(p))
Run dkms install kdtl/VERSION -k $(kdtl-release). Or run make and make install in
kdtl's sources, with this kernel's KDIR, and with the INSTALL_MOD_PATH of this build
endef
ifeq ($(kdtl-symvers),)
$(error $(kdtl-missing))
endif

ccflags-y += -I$(kdtl-client)/include
KBUILD_EXTRA_SYMBOLS += $(kdtl-symvers)
