// SPDX-License-Identifier: GPL-2.0-only
/* Shows that a module can be built with the private header of nvme-core, from the debug kernel's source. */
#include "nvme.h"

size_t faulty_private_size(void);
size_t faulty_private_size(void)
{
	return sizeof(struct nvme_ctrl);
}
