// SPDX-License-Identifier: GPL-2.0-only
/* Status blocks are read by the code that the library reads them by. Here, as no object can be in two modules. */
#include "../../lib/base/crc32c.c"
#include "../../lib/wire/status.c"
