# SPDX-License-Identifier: GPL-2.0-only
# Test modules (make modules TESTS=1), which nobody installs. They compile the engines' sources for themselves, by wrappers, as
# no object may be in two modules.
obj-m += nvme-accel-engine-test.o

et-own := $(patsubst $(src)/%.c,%.o,$(wildcard $(src)/kernel/tests/engine_test*.c))
et-shared := $(KENGINE_SRCS) $(patsubst $(src)/%.c,%,$(wildcard $(src)/lib/base/*.c $(src)/lib/wire/*.c))
et-wraps := $(addprefix kernel/tests/wrap/,$(subst /,-,$(et-shared)))
nvme-accel-engine-test-y := $(et-own) $(addsuffix .o,$(et-wraps))

quiet_cmd_et_wrap = WRAP    $@
      cmd_et_wrap = mkdir -p $(dir $@); echo '\#include "$(src)/$(subst -,/,$(notdir $(basename $@))).c"' >$@
$(addprefix $(obj)/,$(addsuffix .c,$(et-wraps))):
	$(call cmd,et_wrap)
clean-files += kernel/tests/wrap

obj-m += nvme-accel-crypto-test.o
nvme-accel-crypto-test-y := $(patsubst $(src)/%.c,%.o,$(wildcard $(src)/kernel/tests/crypto_test*.c))
