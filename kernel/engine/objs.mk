# SPDX-License-Identifier: GPL-2.0-only
# The engines inside the kernel: their own files, and the frame that they share with user space (lib/engine).
KENGINE_SRCS := $(addprefix kernel/engine/,gf gf_avx2 gf_ssse3 kacomp kcipher kengine kgcm khash kmeasure kreq ksum kzlib prov) \
	$(addprefix lib/engine/,chain cipher comp_io crc64 decode deflate_skim deflate_wrap ec ec_matrix ec_parse ec_plain \
	engine gzip inflate_wrap move)
ifneq ($(CONFIG_X86_64),y)
KENGINE_SRCS := $(filter-out kernel/engine/gf_avx2 kernel/engine/gf_ssse3,$(KENGINE_SRCS))
endif
KENGINE_OBJS := $(addsuffix .o,$(KENGINE_SRCS))
