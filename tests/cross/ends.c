// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ends - one of two ends that check everything the other says, over RC, UC and UD: contents,
 * immediate data, atomics, the header of datagrams. The ends may be machines of different byte
 * order.
 *
 *	ends [-A] DEVICE GID_INDEX PMTU PORT [SERVER]
 *
 * With SERVER it asks, without it answers. -A, which both ends have or none, leaves out
 * atomics: not every driver survives them. Both print a line with the memory that the
 * other end may use, for who looks at the packets. The last line counts the messages.
 * Status 0: everything was right.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	LONGEST		= 10001,	/* of a message */
	GUARD		= 64,		/* bytes around it that stay as they are */
	GUARD_BYTE	= 0xa5,
	GRH		= 40,
	SLOT		= 16384,
	SLOTS		= 4,		/* receives, sends, what is written, what is read */
	PATIENCE	= 120,		/* seconds */
	AT_ONCE		= 5,		/* READs and atomics; there are peers that take it for 8 */
	READS		= 12,		/* that are posted together, */
	READ_LENGTH	= 700,		/* of so many bytes each */
	READ_SEED	= 77,
	Q_KEY		= 0x11223344,
};

/* What wire.py looks for in the packets */
static const uint32_t IMMEDIATE = 0x01020300;
static const uint64_t INITIAL = 0x0123456789abcdef;
static const uint64_t SWAPPED = 0xfedcba9876543210;
static const uint64_t ADDED = 0x00000000f0000001;

/* What one end says to the other */
struct end {
	uint32_t	qpn, psn, uc_qpn, datagram_qpn, rkey;
	uint64_t	memory;
	union ibv_gid	gid;
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qp, *uc_qp, *datagram_qp;
static struct ibv_ah *ah;
static struct end mine, theirs;
static uint8_t *memory;
static int line, gid_index, messages;
static bool asks, has_atomics = true;

enum slot { RECEIVED, SENT, WRITTEN, READ };

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "ends: error: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

static uint8_t *at(enum slot slot)
{
	return memory + slot * SLOT + GUARD;
}

/* Any two messages differ in nearly all bytes. */
static void fill(uint8_t *to, int seed, size_t length)
{
	size_t i;

	memset(to - GUARD, GUARD_BYTE, SLOT);
	for (i = 0; i < length; i++)
		to[i] = seed * 37 + i * 7 + (i >> 8);
}

static void compare(const uint8_t *got, int seed, size_t length, const char *what)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (got[i] != (uint8_t)(seed * 37 + i * 7 + (i >> 8)))
			die("%s of %zu bytes: byte %zu is 0x%02x", what, length, i, got[i]);
	for (i = 0; i < GUARD; i++)
		if (got[length + i] != GUARD_BYTE)
			die("%s of %zu bytes: byte %zu behind it was written", what, length, i);
}

/* ---- the line between the two, a TCP connection ---- */

static void say(const void *data, size_t length)
{
	if (write(line, data, length) != (ssize_t)length)
		die("the other end has gone");
}

static void hear(void *data, size_t length)
{
	if (recv(line, data, length, MSG_WAITALL) != (ssize_t)length)
		die("the other end has gone");
}

/* Both have come to here. */
static void meet(void)
{
	char byte = '.';

	say(&byte, 1);
	hear(&byte, 1);
}

static void call(const char *server, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST }, *to;
	time_t end = time(NULL) + PATIENCE;

	if (getaddrinfo(server, port, &hints, &to))
		die("%s is no address", server);
	while (true) {
		line = socket(to->ai_family, to->ai_socktype, 0);
		if (!connect(line, to->ai_addr, to->ai_addrlen))
			break;
		if (time(NULL) > end)
			die("no server at %s: %m", server);
		close(line);
		usleep(200000);
	}
	freeaddrinfo(to);
}

static void answer(const char *port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(atoi(port)) };
	int one = 1, s = socket(AF_INET6, SOCK_STREAM, 0);

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s, (struct sockaddr *)&any, sizeof(any)) || listen(s, 1))
		die("cannot listen: %m");
	line = accept(s, NULL, NULL);
	if (line < 0)
		die("accept: %m");
	close(s);
}

/* Text, as the two do not agree about the order of bytes */
static void introduce(void)
{
	char text[128] = "";
	unsigned int i;

	snprintf(text, sizeof(text), "%08x %08x %08x %08x %08x %016" PRIx64 " ", mine.qpn,
		 mine.psn, mine.uc_qpn, mine.datagram_qpn, mine.rkey, mine.memory);
	for (i = 0; i < sizeof(mine.gid); i++)
		sprintf(text + strlen(text), "%02x", mine.gid.raw[i]);
	say(text, sizeof(text));
	hear(text, sizeof(text));
	if (sscanf(text, "%x %x %x %x %x %" SCNx64, &theirs.qpn, &theirs.psn, &theirs.uc_qpn,
		   &theirs.datagram_qpn, &theirs.rkey, &theirs.memory) != 6)
		die("not understood: %s", text);
	for (i = 0; i < sizeof(theirs.gid); i++)
		sscanf(text + 62 + 2 * i, "%2hhx", &theirs.gid.raw[i]);
}

/* ---- verbs ---- */

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	if (!context)
		die("no device %s", name);
	if (ibv_query_gid(context, 1, gid_index, &mine.gid))
		die("no GID %d", gid_index);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	if (posix_memalign((void **)&memory, 65536, SLOTS * SLOT))
		die("no memory");
	mr = ibv_reg_mr(pd, memory, SLOTS * SLOT, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!pd || !cq || !mr)
		die("no resources: %m");
	mine.memory = (uintptr_t)memory;
	mine.rkey = mr->rkey;
}

static struct ibv_qp *create(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .sq_sig_all = 1,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1,
			 .max_inline_data = 64 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = Q_KEY };
	struct ibv_qp *made = ibv_create_qp(pd, &init);
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (!made)
		die("no queue pair: %m");
	if (type == IBV_QPT_RC)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				       IBV_ACCESS_REMOTE_ATOMIC;
	else if (type == IBV_QPT_UC)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	mask |= type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	if (ibv_modify_qp(made, &attr, mask))
		die("a queue pair does not become INIT");
	return made;
}

static void connect_pairs(enum ibv_mtu pmtu)
{
	struct ibv_ah_attr path = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = theirs.gid, .sgid_index = gid_index, .hop_limit = 64 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = pmtu, .dest_qp_num = theirs.qpn,
		.rq_psn = theirs.psn, .max_dest_rd_atomic = AT_ONCE, .min_rnr_timer = 12, .ah_attr = path,
	};
	int failed;

	failed = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			       IBV_QP_MIN_RNR_TIMER);
	failed |= ibv_modify_qp(datagram_qp, &attr, IBV_QP_STATE);
	attr.dest_qp_num = theirs.uc_qpn;
	failed |= ibv_modify_qp(uc_qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = mine.psn;
	attr.timeout = 18;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = AT_ONCE;
	failed |= ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	failed |= ibv_modify_qp(uc_qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	failed |= ibv_modify_qp(datagram_qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	ah = ibv_create_ah(pd, &path);
	if (failed || !ah)
		die("the queue pairs cannot be connected");
}

static struct ibv_wc completion(const char *what)
{
	time_t end = time(NULL) + PATIENCE;
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		if (time(NULL) > end)
			die("%s: no completion", what);
	if (wc.status)
		die("%s: status %d, %s", what, wc.status, ibv_wc_status_str(wc.status));
	return wc;
}

static void expect(struct ibv_qp *by, size_t room)
{
	struct ibv_sge sge = { (uintptr_t)at(RECEIVED), room, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(by, &wr, &bad))
		die("a receive cannot be posted");
}

static void post(struct ibv_qp *by, struct ibv_send_wr *wr, enum slot slot, size_t length,
		 const char *what)
{
	struct ibv_sge sge = { (uintptr_t)at(slot), length, mr->lkey };
	struct ibv_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = length ? 1 : 0;
	/* every other short one */
	if (length <= 64 && (messages & 1) && wr->opcode != IBV_WR_RDMA_READ &&
	    wr->opcode != IBV_WR_ATOMIC_CMP_AND_SWP && wr->opcode != IBV_WR_ATOMIC_FETCH_AND_ADD)
		wr->send_flags = IBV_SEND_INLINE;
	if (ibv_post_send(by, wr, &bad))
		die("%s of %zu bytes cannot be posted", what, length);
	completion(what);
	messages++;
}

/* Where SLOT of the other end is */
static uint64_t there(enum slot slot)
{
	return theirs.memory + slot * SLOT + GUARD;
}

/* ---- the messages ---- */

static __be32 immediate(int n)
{
	return htobe32(IMMEDIATE + n);
}

static void received(enum ibv_wc_opcode opcode, int n, size_t length, const char *what)
{
	struct ibv_wc wc = completion(what);

	if (wc.opcode != opcode || wc.byte_len != length)
		die("%s: opcode %d, %u bytes instead of %d, %zu", what, wc.opcode, wc.byte_len,
		    opcode, length);
	if (!(wc.wc_flags & IBV_WC_WITH_IMM) || wc.imm_data != immediate(n))
		die("%s: immediate data 0x%08x instead of 0x%08x", what, be32toh(wc.imm_data),
		    be32toh(immediate(n)));
	messages++;
}

/* SEND and WRITE, by a connection of either kind; a reliable one READs, too */
static void ask(struct ibv_qp *by, int n, size_t length)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = immediate(n) };
	struct ibv_send_wr write = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = immediate(n + 1),
		.wr.rdma = { there(WRITTEN), theirs.rkey },
	};
	struct ibv_send_wr read = {
		.opcode = IBV_WR_RDMA_READ, .wr.rdma = { there(READ), theirs.rkey },
	};

	fill(at(SENT), n, length);
	fill(at(READ), 0, 0);
	meet();
	post(by, &send, SENT, length, "SEND");
	post(by, &write, SENT, length, "WRITE");
	if (by == qp) {
		post(by, &read, READ, length, "READ");
		compare(at(READ), n + 100, length, "what was read");
	}
	meet();
}

static void serve(struct ibv_qp *by, int n, size_t length)
{
	fill(at(RECEIVED), 0, 0);
	fill(at(WRITTEN), 0, 0);
	fill(at(READ), n + 100, length);
	expect(by, LONGEST);
	expect(by, LONGEST);
	meet();
	received(IBV_WC_RECV, n, length, "SEND");
	received(IBV_WC_RECV_RDMA_WITH_IMM, n + 1, length, "WRITE");
	meet();
	compare(at(RECEIVED), n, length, "what was sent");
	compare(at(WRITTEN), n, length, "what was written");
}

/* More of them at once than were agreed on: who asks sees to it that they are not. */
static void many_reads(void)
{
	struct ibv_send_wr wr[READS] = { }, *bad;
	struct ibv_sge sge[READS];
	int i;

	fill(at(READ), READ_SEED, asks ? 0 : READS * READ_LENGTH);
	meet();
	for (i = 0; i < READS; i++) {
		sge[i] = (struct ibv_sge){ (uintptr_t)at(READ) + i * READ_LENGTH, READ_LENGTH,
					   mr->lkey };
		wr[i].next = i + 1 < READS ? &wr[i + 1] : NULL;
		wr[i].opcode = IBV_WR_RDMA_READ;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].wr.rdma.remote_addr = there(READ) + i * READ_LENGTH;
		wr[i].wr.rdma.rkey = theirs.rkey;
	}
	if (asks) {
		if (ibv_post_send(qp, wr, &bad))
			die("%d READs cannot be posted", READS);
		for (i = 0; i < READS; i++)
			completion("one of many READs");
		messages += READS;
		compare(at(READ), READ_SEED, READS * READ_LENGTH, "what many READs read");
	}
	meet();
}

static void atomic(enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap, uint64_t before,
		   const char *what)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.wr.atomic = { there(WRITTEN), compare_add, swap, theirs.rkey },
	};
	uint64_t got;

	fill(at(READ), 0, 0);
	post(qp, &wr, READ, sizeof(got), what);
	memcpy(&got, at(READ), sizeof(got));
	if (got != before)
		die("%s: there was 0x%016" PRIx64 ", not 0x%016" PRIx64, what, got, before);
}

/* The word is a number of the machine that has it. */
static void atomics(void)
{
	uint64_t word = INITIAL;

	fill(at(WRITTEN), 0, 0);
	memcpy(at(WRITTEN), &word, sizeof(word));
	meet();
	if (asks) {
		atomic(IBV_WR_ATOMIC_CMP_AND_SWP, INITIAL, SWAPPED, INITIAL, "compare and swap");
		atomic(IBV_WR_ATOMIC_CMP_AND_SWP, INITIAL, ADDED, SWAPPED, "compare and not swap");
		atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, ADDED, 0, SWAPPED, "fetch and add");
	}
	meet();
	memcpy(&word, at(WRITTEN), sizeof(word));
	if (!asks && word != SWAPPED + ADDED)
		die("atomics leave 0x%016" PRIx64, word);
	if (at(WRITTEN)[-1] != GUARD_BYTE || at(WRITTEN)[sizeof(word)] != GUARD_BYTE)
		die("atomics write beside their word");
}

/* What is in front of a datagram: a GRH, or an IPv4 header in its last 20 bytes */
static void compare_grh(const uint8_t *grh)
{
	bool v4 = !memcmp(mine.gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
	bool right;

	if (v4)
		right = grh[20] == 0x45 && !memcmp(grh + 32, theirs.gid.raw + 12, 4) &&
			!memcmp(grh + 36, mine.gid.raw + 12, 4);
	else
		right = grh[0] >> 4 == 6 && !memcmp(grh + 8, &theirs.gid, 16) &&
			!memcmp(grh + 24, &mine.gid, 16);
	if (!right)
		die("the header of a datagram has not the addresses it came with");
}

static void datagram(int n, size_t length)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = immediate(n),
		.wr.ud = { ah, theirs.datagram_qpn, Q_KEY },
	};

	fill(at(SENT), n, length);
	fill(at(RECEIVED), 0, 0);
	if (!asks)
		expect(datagram_qp, GRH + LONGEST);
	meet();
	if (asks)
		post(datagram_qp, &wr, SENT, length, "datagram");
	else
		received(IBV_WC_RECV, n, GRH + length, "datagram");
	meet();
	if (asks)
		return;
	compare_grh(at(RECEIVED));
	compare(at(RECEIVED) + GRH, n, length, "datagram");
}

static void all_messages(size_t pmtu)
{
	const size_t lengths[] = { 0, 1, 2, 3, 4, 63, 64, 250, pmtu - 1, pmtu, pmtu + 1, 2 * pmtu,
				   LONGEST };
	unsigned int i;

	for (i = 0; i < 2 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		/* of each length one by each connection */
		if (asks)
			ask(i & 1 ? uc_qp : qp, i & ~1, lengths[i / 2]);
		else
			serve(i & 1 ? uc_qp : qp, i & ~1, lengths[i / 2]);
	}
	many_reads();
	for (i = 0; i < 3 && has_atomics; i++)
		atomics();
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]) && lengths[i] <= pmtu; i++)
		datagram(100 + i, lengths[i]);
	meet();
}

int main(int argc, char **argv)
{
	enum ibv_mtu pmtu;

	if (argc > 1 && !strcmp(argv[1], "-A")) {
		has_atomics = false;
		argc--;
		argv++;
	}
	if (argc < 5 || argc > 6)
		die("usage: ends [-A] DEVICE GID_INDEX PMTU PORT [SERVER]");
	asks = argc == 6;
	gid_index = atoi(argv[2]);
	for (pmtu = IBV_MTU_256; pmtu < IBV_MTU_4096 && 128 << pmtu != atoi(argv[3]); pmtu++)
		;
	open_device(argv[1]);
	qp = create(IBV_QPT_RC);
	uc_qp = create(IBV_QPT_UC);
	datagram_qp = create(IBV_QPT_UD);
	mine.qpn = qp->qp_num;
	mine.uc_qpn = uc_qp->qp_num;
	mine.datagram_qpn = datagram_qp->qp_num;
	/* numbers turn over on the way */
	mine.psn = 0xfffff0;
	if (asks)
		call(argv[5], argv[4]);
	else
		answer(argv[4]);
	introduce();
	connect_pairs(pmtu);
	printf("memory 0x%" PRIx64 " rkey 0x%x length %d\n", mine.memory, mine.rkey, SLOTS * SLOT);
	meet();
	all_messages(128 << pmtu);
	printf("%d messages\n", messages);
	ibv_destroy_ah(ah);
	ibv_destroy_qp(qp);
	ibv_destroy_qp(uc_qp);
	ibv_destroy_qp(datagram_qp);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	return 0;
}
