// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * intruder - damaged copies of the packets that pass by, at their own rate.
 *
 *	intruder NETDEV SECONDS [SEED]
 *
 * Listens on NETDEV, and sends each RoCE packet that leaves by it once more, to the
 * same peer: with bits, bytes or fields changed, cut short, made longer, or as it
 * was but later, and mostly with an ICRC that is right for what it is now. So queue
 * pair numbers and PSNs are those of living connections.
 *
 * The seconds begin with the first packet. The last line counts; a run that has sent
 * nothing fails.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

#include "../../../drivers/rxe/proto/icrc.h"

enum {
	ETHER	= 14,
	UDP	= 8,
	BTH	= 12,
	ICRC	= 4,
	PORT	= 4791,
	LONGEST	= 9000,
	KEPT	= 64,		/* packets to be sent later */
	WAIT	= 120,		/* seconds until the first comes, on a busy machine */
};

struct frame {
	uint8_t	bytes[LONGEST];
	int	len;
};

static struct frame kept[KEPT];
static uint64_t seen, six, sent, refused;

static void die(const char *what)
{
	fprintf(stderr, "intruder: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint32_t table[256];

static void crc32_init(void)
{
	uint32_t n, crc;
	int i;

	for (n = 0; n < 256; n++) {
		crc = n;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
		table[n] = crc;
	}
}

static uint32_t crc32_more(uint32_t crc, const uint8_t *p, int len)
{
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

/* Where the BTH of a RoCE packet is, or 0 */
static int bth_of(const struct frame *f)
{
	int ip, udp;

	if (f->len < ETHER + 20)
		return 0;
	if (f->bytes[12] == 8 && f->bytes[13] == 0)
		ip = f->bytes[ETHER] == 0x45 && f->bytes[ETHER + 9] == 17 ? 20 : 0;
	else
		ip = f->bytes[12] == 0x86 && f->bytes[13] == 0xdd &&
		     f->bytes[ETHER + 6] == 17 ? 40 : 0;
	udp = ETHER + ip;
	/* an ACK over IPv4 is shorter than any packet over IPv6 */
	if (!ip || f->len < udp + UDP + BTH + ICRC || (f->bytes[udp + 2] << 8 | f->bytes[udp + 3]) != PORT)
		return 0;
	return udp + UDP;
}

/* Lengths, checksum and ICRC that are right for what stands in the frame */
static void repair(struct frame *f, int bth)
{
	bool ipv4 = bth == ETHER + 20 + UDP;
	uint8_t *ip = f->bytes + ETHER, *udp = f->bytes + bth - UDP;
	int len = f->len - bth + UDP, summed = f->len - bth - BTH - ICRC, i;
	uint8_t pseudo[ICRC_PSEUDO_MAX];
	uint32_t sum = 0;

	udp[4] = len >> 8;
	udp[5] = len;
	udp[6] = udp[7] = 0;
	if (ipv4) {
		ip[2] = (len + 20) >> 8;
		ip[3] = len + 20;
		ip[10] = ip[11] = 0;
		for (i = 0; i < 20; i += 2)
			sum += ip[i] << 8 | ip[i + 1];
		sum = (sum & 0xffff) + (sum >> 16);
		sum = ~(sum + (sum >> 16));
		ip[10] = sum >> 8;
		ip[11] = sum;
		i = icrc_pseudo_ipv4(pseudo, ip, udp, f->bytes + bth);
	} else {
		ip[4] = len >> 8;
		ip[5] = len;
		i = icrc_pseudo_ipv6(pseudo, ip, udp, f->bytes + bth);
	}
	sum = crc32_more(ICRC_SEED, pseudo, i);
	sum = crc32_more(sum, f->bytes + bth + BTH, summed);
	icrc_write(f->bytes + f->len - ICRC, sum);
}

/* Values that have hurt somebody before */
static uint8_t nasty(void)
{
	static const uint8_t values[] = { 0, 1, 2, 0x7f, 0x80, 0xfe, 0xff };

	return one_in(2) ? random64() : values[below(sizeof(values))];
}

static void damage(struct frame *f, int bth)
{
	int behind = f->len - bth - BTH - ICRC, n;
	uint8_t *p = f->bytes + bth;

	switch (below(10)) {
	case 0:		/* another opcode, mostly one that there is */
		p[0] = one_in(4) ? random64() : below(0x18);
		break;
	case 1:		/* flags and pad */
		p[1] = nasty();
		break;
	case 2:		/* another PSN: near, or anywhere */
		p[11] += one_in(2) ? 1 + below(4) : random64();
		if (one_in(4))
			p[10] = random64();
		break;
	case 3:
		p[8] ^= 0x80;
		break;
	case 4:		/* an address, key or length of the extended headers */
		for (n = 1 + below(4); n && behind > 0; n--)
			p[BTH + below(behind < 28 ? behind : 28)] = nasty();
		break;
	case 5:		/* shorter */
		f->len -= one_in(2) ? 4 * below(behind / 4 + 1) : below(behind + 1);
		break;
	case 6:		/* longer */
		n = one_in(2) ? 4 * below(64) : below(200);
		if (f->len + n > LONGEST)
			break;
		memset(f->bytes + f->len, nasty(), n);
		f->len += n;
		break;
	case 7:		/* single bits */
		for (n = 1 + below(3); n; n--)
			p[below(f->len - bth)] ^= 1 << below(8);
		break;
	case 8:		/* P_Key, reserved bits, number of the queue pair */
		p[2 + below(6)] = nasty();
		break;
	default:	/* as it was */
		break;
	}
}

static void inject(int sock, const struct frame *f)
{
	if (send(sock, f->bytes, f->len, MSG_DONTWAIT) == f->len)
		sent++;
	else
		refused++;
}

static void one_frame(int sock, const struct frame *f)
{
	struct frame *old = &kept[below(KEPT)], copy = *f;
	int bth = bth_of(f), n;

	if (!bth)
		return;
	seen++;
	six += bth == ETHER + 40 + UDP;
	for (n = 1 + below(3); n; n--) {
		copy = *f;
		damage(&copy, bth);
		if (copy.len < bth + BTH + ICRC)
			copy.len = bth + BTH + ICRC;
		if (!one_in(8))
			repair(&copy, bth);
		inject(sock, &copy);
	}
	if (one_in(4)) {
		if (old->len)
			inject(sock, old);
		*old = *f;
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_ll from, at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct frame f;
	time_t end;
	int sock;

	if (argc < 3) {
		fprintf(stderr, "usage: intruder NETDEV SECONDS [SEED]\n");
		return 2;
	}
	seed = argc > 3 ? strtoull(argv[3], NULL, 0) : (uint64_t)time(NULL) * 2654435761u + getpid();
	seed |= 1;
	printf("seed %" PRIu64 "\n", seed);
	fflush(stdout);
	crc32_init();
	sock = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	at.sll_ifindex = if_nametoindex(argv[1]);
	if (sock < 0 || !at.sll_ifindex || bind(sock, (struct sockaddr *)&at, sizeof(at)))
		die(argv[1]);
	for (end = time(NULL) + WAIT; time(NULL) < end;) {
		struct pollfd ready = { .fd = sock, .events = POLLIN };
		socklen_t len = sizeof(from);

		if (poll(&ready, 1, 100) <= 0)
			continue;
		f.len = recvfrom(sock, f.bytes, sizeof(f.bytes), MSG_TRUNC,
				 (struct sockaddr *)&from, &len);
		/* our own copies do not come back here, bursts are too long */
		if (f.len <= 0 || f.len > LONGEST || from.sll_pkttype != PACKET_OUTGOING)
			continue;
		if (!seen && bth_of(&f))
			end = time(NULL) + atoi(argv[2]);
		one_frame(sock, &f);
	}
	printf("%" PRIu64 " packets seen, %" PRIu64 " of IPv6, %" PRIu64 " sent, %" PRIu64 " refused\n",
	       seen, six, sent, refused);
	return sent ? 0 : 1;
}
