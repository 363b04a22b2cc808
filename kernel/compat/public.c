// SPDX-License-Identifier: GPL-2.0-only
/* Preprocessed only, for scripts/mkprivate.py: what public headers define, and the version that they are of. */
#include "nvme_public.h"

int mkprivate_version = LINUX_VERSION_CODE;
