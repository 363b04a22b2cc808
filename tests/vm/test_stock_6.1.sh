#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The same as test_stock.sh with the kernel of Debian 12.
exec "$(dirname "$0")/test_stock.sh" 6.1
