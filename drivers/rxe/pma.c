// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Performance management (IBTA 16.1): the counters of a port by MAD, for perfquery and
 * whoever else asks QP 1, and for sysfs' counters/, which the RDMA core fills by asking
 * in the same way.
 *
 * They are those of counters.c, less what they were when somebody set them last.
 * PortCounters and PortCountersExtended are set apart from each other.  A field that
 * is too small for its counter stays at its largest value.
 */
#include <linux/string.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "rxe.h"

#define PMA_VERSION	1
#define PMA_ALL_PORTS	0xff

/* Of the class: all ports may be asked for, and there are counters of 64 bits, but not
 * those of unicast and multicast
 */
#define PMA_CAPABILITIES	cpu_to_be16(BIT(8) | BIT(10))

/**
 * struct pma_field - a counter in an attribute
 * @select: its bit in CounterSelect
 * @offset: in the attribute, bytes
 * @size: bytes
 * @shift: 2: counts words of 4 bytes
 * @which: what it shows
 * @also: and this, too, if it is another
 */
struct pma_field {
	u16	select;
	u8	offset;
	u8	size;
	u8	shift;
	u8	which;
	u8	also;
};

#define FIELD(attribute, member, bit, words, first, second)			\
{										\
	.select	= (bit),							\
	.offset	= offsetof(struct attribute, member),				\
	.size	= sizeof(((struct attribute *)NULL)->member),			\
	.shift	= (words) ? 2 : 0,						\
	.which	= RXE_CNT_ ## first,						\
	.also	= RXE_CNT_ ## second,						\
}

#define SHORT(member, bit, words, first, second)				\
	FIELD(ib_pma_portcounters, member, bit, words, first, second)
#define LONG(member, bit, words, which)						\
	FIELD(ib_pma_portcounters_ext, member, bit, words, which, which)

static const struct pma_field short_fields[] = {
	SHORT(link_downed_counter,	BIT(2),  false, LINK_DOWN, LINK_DOWN),
	SHORT(port_rcv_errors,		BIT(3),  false, RX_ICRC_ERRORS, RX_MALFORMED),
	SHORT(port_xmit_discards,	BIT(6),  false, TX_DROPPED, TX_DROPPED),
	SHORT(port_xmit_data,		BIT(12), true,  TX_BYTES, TX_BYTES),
	SHORT(port_rcv_data,		BIT(13), true,  RX_BYTES, RX_BYTES),
	SHORT(port_xmit_packets,	BIT(14), false, TX_PACKETS, TX_PACKETS),
	SHORT(port_rcv_packets,		BIT(15), false, RX_PACKETS, RX_PACKETS),
};

/* Unicast and multicast are not told apart, as the class port info says */
static const struct pma_field long_fields[] = {
	LONG(port_xmit_data,	BIT(0), true,  TX_BYTES),
	LONG(port_rcv_data,	BIT(1), true,  RX_BYTES),
	LONG(port_xmit_packets,	BIT(2), false, TX_PACKETS),
	LONG(port_rcv_packets,	BIT(3), false, RX_PACKETS),
};

/* Both attributes begin like this; a request may ask for all ports, too. */
struct pma_head {
	u8	reserved;
	u8	port_select;
	__be16	counter_select;
};

static u64 pma_count(struct rxe_dev *dev, const struct pma_field *field)
{
	u64 sum = rxe_counters_sum(dev, field->which);

	return field->also == field->which ? sum : sum + rxe_counters_sum(dev, field->also);
}

static void pma_show(u8 *to, const struct pma_field *field, u64 value)
{
	value >>= field->shift;
	if (field->size < sizeof(value))
		value = min(value, BIT_ULL(8 * field->size) - 1);
	value = (__force u64)cpu_to_be64(value);
	memcpy(to, (u8 *)&value + sizeof(value) - field->size, field->size);
}

/*
 * Get or Set an attribute of counters. Set makes the counters that are selected begin
 * again; whatever values it brings, they become 0.
 */
static u16 pma_counters(struct rxe_dev *dev, struct ib_pma_mad *mad, bool set,
			const struct pma_field *fields, unsigned int count, u64 *base)
{
	struct pma_head head;
	unsigned int i;

	memcpy(&head, mad->data, sizeof(head));
	if (head.port_select != RXE_PORT && head.port_select != PMA_ALL_PORTS)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;

	memset(mad->data + sizeof(head), 0, sizeof(mad->data) - sizeof(head));
	for (i = 0; i < count; i++) {
		const struct pma_field *field = &fields[i];
		u64 now = pma_count(dev, field);

		if (set && be16_to_cpu(head.counter_select) & field->select)
			WRITE_ONCE(base[i], now);
		pma_show(mad->data + field->offset, field, now - READ_ONCE(base[i]));
	}
	return 0;
}

static u16 pma_class_port_info(struct ib_pma_mad *mad)
{
	struct ib_class_port_info info = {
		.base_version	 = IB_MGMT_BASE_VERSION,
		.class_version	 = PMA_VERSION,
		.capability_mask = PMA_CAPABILITIES,
	};

	memset(mad->data, 0, sizeof(mad->data));
	memcpy(mad->data, &info, offsetofend(struct ib_class_port_info, capability_mask));
	/* an answer takes less than 4.096 us * 2^18, a second */
	mad->data[7] = 18;
	return 0;
}

static u16 pma_answer(struct rxe_dev *dev, struct ib_pma_mad *mad, bool set)
{
	if (mad->mad_hdr.class_version != PMA_VERSION)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;

	switch (mad->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		return set ? IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB :
			     pma_class_port_info(mad);
	case IB_PMA_PORT_COUNTERS:
		BUILD_BUG_ON(ARRAY_SIZE(short_fields) > ARRAY_SIZE(dev->pma_base[0]));
		return pma_counters(dev, mad, set, short_fields,
				    ARRAY_SIZE(short_fields), dev->pma_base[0]);
	case IB_PMA_PORT_COUNTERS_EXT:
		BUILD_BUG_ON(ARRAY_SIZE(long_fields) > ARRAY_SIZE(dev->pma_base[1]));
		return pma_counters(dev, mad, set, long_fields,
				    ARRAY_SIZE(long_fields), dev->pma_base[1]);
	default:
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	}
}

/**
 * rxe_pma_process_mad() - answer a request to the performance management agent
 * @ibdev: device
 * @flags: about keys that this class has not
 * @port: port
 * @wc: of the datagram, NULL: the core itself asks
 * @grh: likewise
 * @in: a MAD of any class
 * @out: the answer
 * @out_size: of @out, bytes
 * @out_pkey_index: to send it with, as it came
 *
 * Requests of other classes, and what is no request, is left to the core and to the
 * programs that registered for it.
 *
 * Context: process context.
 * Return: IB_MAD_RESULT_SUCCESS, with IB_MAD_RESULT_REPLY if @out is to be sent.
 */
int rxe_pma_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
			const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
			size_t *out_size, u16 *out_pkey_index)
{
	struct ib_pma_mad *mad = (struct ib_pma_mad *)out;
	u16 status;

	BUILD_BUG_ON(sizeof(*mad) != sizeof(*out));
	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT)
		return IB_MAD_RESULT_SUCCESS;

	switch (in->mad_hdr.method) {
	case IB_MGMT_METHOD_GET:
	case IB_MGMT_METHOD_SET:
		memcpy(out, in, sizeof(*out));
		status = pma_answer(to_rxe_dev(ibdev), mad,
				    in->mad_hdr.method == IB_MGMT_METHOD_SET);
		mad->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
		mad->mad_hdr.status = cpu_to_be16(status);
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}
