// librdkafka, and what of it Swift cannot call: functions with a variable number of arguments.
#ifndef WEIR_CRDKAFKA_SHIM_H
#define WEIR_CRDKAFKA_SHIM_H

#include <malloc.h>
#include <string.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

// Fetched records come in blocks of megabytes that are freed a moment later. The allocator would map each
// of them anew, and the kernel clear every page of it.
static inline void weir_keep_freed_memory(void) {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

// Whether a fetched record has no headers. True only if the record lies where it was read, in format 2 of Kafka: its
// value follows its own length as a zigzag varint, and precedes the number of headers. Otherwise librdkafka must be
// asked, which takes as long as an eighth of all work on a bid: it allocates three objects to read that number.
//
// A value in another place never follows this varint, which ends in a byte above 0, and of which all bytes but the last
// are above 127. Formats 0 and 1 have the length in four bytes, and the allocator has the size of the block, whose last
// byte is 0.
static inline int weir_has_no_headers(const void *fetched, size_t size) {
    const unsigned char *value = (const unsigned char *)fetched;
    unsigned long long length = (unsigned long long)size << 1;
    unsigned char written[10];
    int count = 0;
    if (!value || !length) return 0;
    for (; length > 0x7F; length >>= 7) written[count++] = (unsigned char)(length & 0x7F) | 0x80;
    written[count++] = (unsigned char)length;
    return memcmp(value - count, written, (size_t)count) == 0 && value[size] == 0;
}

// Hands one record to a producer, which copies key and value. A null key or value is Kafka's null. Takes
// the headers over unless it fails. A timestamp of 0 lets the producer stamp the record.
static inline rd_kafka_resp_err_t weir_rd_kafka_produce(
    rd_kafka_t *rk, const char *topic, int32_t partition, int64_t timestamp_ms,
    const void *key, size_t key_size, const void *value, size_t value_size,
    rd_kafka_headers_t *headers, void *opaque) {
    if (headers)
        return rd_kafka_producev(
            rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
            RD_KAFKA_V_TIMESTAMP(timestamp_ms), RD_KAFKA_V_KEY(key, key_size),
            RD_KAFKA_V_VALUE((void *)value, value_size), RD_KAFKA_V_HEADERS(headers),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_OPAQUE(opaque),
            RD_KAFKA_V_END);
    return rd_kafka_producev(
        rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
        RD_KAFKA_V_TIMESTAMP(timestamp_ms), RD_KAFKA_V_KEY(key, key_size),
        RD_KAFKA_V_VALUE((void *)value, value_size),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END);
}

#endif
