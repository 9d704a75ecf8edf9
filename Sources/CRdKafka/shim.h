// librdkafka, and what of it Swift cannot call: functions with a variable number of arguments.
#ifndef WEIR_CRDKAFKA_SHIM_H
#define WEIR_CRDKAFKA_SHIM_H

#include <malloc.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

// Fetched records come in blocks of megabytes that are freed a moment later. The allocator would map each
// of them anew, and the kernel clear every page of it.
static inline void weir_keep_freed_memory(void) {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 128 << 20);
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
