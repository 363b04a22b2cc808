// SPDX-License-Identifier: GPL-2.0-only
/* Preprocessed only, for scripts/mkprivate.py: what the private header of a kernel source has (KSRC=). */
#include "nvme_public.h"
#include "nvme.h"
