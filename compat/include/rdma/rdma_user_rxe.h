/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ours instead of the kernel's: releases before 6.2 lack fields, before 4.8 all
 * of it. The path says uapi/, so that the overlay comes before the kernel's.
 */
#include <uapi/rdma/rdma_user_rxe.h>
