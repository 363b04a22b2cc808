# SPDX-License-Identifier: GPL-2.0-only
# Test modules (make modules TESTS=1); nobody installs them. They compile the engines' sources for themselves, by wrappers, as
# no object may be in two modules.
obj-m += nvme-accel-engine-test.o

et-own := $(patsubst $(src)/%.c,%.o,$(wildcard $(src)/kernel/tests/engine_test*.c))
et-dirs := lib/base lib/wire
et-shared := $(KENGINE_SRCS) $(patsubst $(src)/%.c,%,$(wildcard $(addprefix $(src)/,$(addsuffix /*.c,$(et-dirs)))))
et-wraps := $(addprefix kernel/tests/wrap/,$(subst /,-,$(et-shared)))
nvme-accel-engine-test-y := $(et-own) $(addsuffix .o,$(et-wraps))

quiet_cmd_et_wrap = WRAP    $@
      cmd_et_wrap = mkdir -p $(dir $@); echo '\#include "../../../$(1).c"' >$@
define et_wrap_rule
$(obj)/kernel/tests/wrap/$(subst /,-,$(1)).c: FORCE
	$$(if $$(wildcard $$@),,$$(call cmd,et_wrap,$(1)))
endef
