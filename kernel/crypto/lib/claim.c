// SPDX-License-Identifier: GPL-2.0-only
/* Of this module, too: an object belongs to one. */
#include "../../../lib/wire/claim.c"
