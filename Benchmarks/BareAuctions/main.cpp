// The cost of an auction without Weir: librdkafka, simdjson On-Demand, a hash table and SQLite, in one thread next to
// librdkafka's own. Reads a topic of auctions to its end, sums bids and prices by hour, partition and campaign, and
// commits sums and offsets with an fsync after every 10,000 records. It does not remember ids, and validates only the
// values that it reads.
//
//     weir-bare-auctions HOST:PORT[,HOST:PORT] TOPIC FILE

#include <librdkafka/rdkafka.h>
#include <simdjson.h>
#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

const size_t batch_records = 10000;

[[noreturn]] void fail(const std::string &what) {
    fprintf(stderr, "weir-bare-auctions: %s\n", what.c_str());
    exit(1);
}

struct Sums {
    int64_t auctions = 0;
    int64_t bids = 0;
    int64_t price_micros = 0;
};

class Table {
  public:
    explicit Table(const char *path) {
        check(sqlite3_open(path, &db));
        run("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
            "CREATE TABLE bids (key BLOB PRIMARY KEY, auctions INTEGER, bids INTEGER, price_micros INTEGER)"
            " WITHOUT ROWID;"
            "CREATE TABLE offsets (partition INTEGER PRIMARY KEY, next_offset INTEGER);");
        upsert = prepare("INSERT INTO bids VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET auctions = auctions + "
                         "excluded.auctions, bids = bids + excluded.bids, price_micros = price_micros + "
                         "excluded.price_micros");
        offset = prepare("INSERT OR REPLACE INTO offsets VALUES (?, ?)");
    }

    void commit(const std::unordered_map<std::string, Sums> &rows, const std::map<int32_t, int64_t> &offsets) {
        run("BEGIN IMMEDIATE");
        for (const auto &[key, sums] : rows) {
            sqlite3_bind_blob(upsert, 1, key.data(), int(key.size()), SQLITE_STATIC);
            sqlite3_bind_int64(upsert, 2, sums.auctions);
            sqlite3_bind_int64(upsert, 3, sums.bids);
            sqlite3_bind_int64(upsert, 4, sums.price_micros);
            step(upsert);
        }
        for (const auto &[partition, next] : offsets) {
            sqlite3_bind_int64(offset, 1, partition);
            sqlite3_bind_int64(offset, 2, next);
            step(offset);
        }
        run("COMMIT");
    }

    int64_t value(const char *sql) {
        sqlite3_stmt *statement = prepare(sql);
        if (sqlite3_step(statement) != SQLITE_ROW) fail(sqlite3_errmsg(db));
        int64_t value = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        return value;
    }

  private:
    sqlite3 *db = nullptr;
    sqlite3_stmt *upsert = nullptr;
    sqlite3_stmt *offset = nullptr;

    void check(int code) {
        if (code != SQLITE_OK) fail(sqlite3_errmsg(db));
    }
    void run(const char *sql) { check(sqlite3_exec(db, sql, nullptr, nullptr, nullptr)); }
    sqlite3_stmt *prepare(const char *sql) {
        sqlite3_stmt *statement = nullptr;
        check(sqlite3_prepare_v2(db, sql, -1, &statement, nullptr));
        return statement;
    }
    void step(sqlite3_stmt *statement) {
        if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_errmsg(db));
        sqlite3_reset(statement);
    }
};

class Auctions {
  public:
    std::unordered_map<std::string, Sums> rows;

    void add(const uint8_t *bytes, size_t length, int32_t partition, int64_t milliseconds) {
        if (padded.size() < length + simdjson::SIMDJSON_PADDING) padded.resize(2 * length + simdjson::SIMDJSON_PADDING);
        memcpy(padded.data(), bytes, length);
        std::string_view source_app, currency = "USD";
        auto document = parser.iterate(padded.data(), length, padded.size());
        for (auto field : document.get_object()) {
            std::string_view name = field.unescaped_key();
            if (name == "request") {
                for (auto member : field.value().get_object()) {
                    if (std::string_view(member.unescaped_key()) == "app")
                        source_app = member.value()["bundle"].get_string();
                }
                begin(partition, milliseconds, source_app);
                rows[key].auctions++;
            } else if (name == "response") {
                for (auto member : field.value().get_object()) {
                    std::string_view part = member.unescaped_key();
                    if (part == "cur") currency = member.value().get_string();
                    if (part == "seatbid") seats(member.value(), partition, milliseconds, currency);
                }
            }
        }
    }

  private:
    simdjson::ondemand::parser parser;
    std::vector<char> padded;
    std::string key;

    void begin(int32_t partition, int64_t milliseconds, std::string_view app) {
        key.clear();
        int64_t hour = milliseconds / 3600000;
        key.append(reinterpret_cast<const char *>(&hour), 8);
        key.append(reinterpret_cast<const char *>(&partition), 4);
        part(app);
    }

    void part(std::string_view text) {
        key.append(text);
        key.push_back('\0');
    }

    void seats(simdjson::ondemand::value list, int32_t partition, int64_t milliseconds, std::string_view currency) {
        for (auto seat : list.get_array()) {
            std::string_view seat_name;
            for (auto member : seat.get_object()) {
                std::string_view name = member.unescaped_key();
                if (name == "seat") seat_name = member.value().get_string();
                if (name != "bid") continue;
                for (auto bid : member.value().get_array()) this->bid(bid.get_object(), seat_name, partition, milliseconds, currency);
            }
        }
    }

    void bid(simdjson::ondemand::object bid, std::string_view seat, int32_t partition, int64_t milliseconds,
             std::string_view currency) {
        double price = 0;
        std::string_view version, network, campaign, item, source_app;
        for (auto member : bid) {
            std::string_view name = member.unescaped_key();
            if (name == "price") price = member.value().get_double();
            if (name != "ext") continue;
            for (auto part : member.value()["skadn"].get_object()) {
                std::string_view field = part.unescaped_key();
                if (field == "version") version = part.value().get_string();
                else if (field == "network") network = part.value().get_string();
                else if (field == "sourceidentifier") campaign = part.value().get_string();
                else if (field == "itunesitem") item = part.value().get_string();
                else if (field == "sourceapp") source_app = part.value().get_string();
            }
        }
        begin(partition, milliseconds, source_app);
        for (auto text : {seat, currency, version, network, campaign, item}) part(text);
        Sums &sums = rows[key];
        sums.bids++;
        sums.price_micros += int64_t(price * 1e6 + 0.5);
    }
};

rd_kafka_t *open(const char *brokers) {
    char error[512];
    rd_kafka_conf_t *settings = rd_kafka_conf_new();
    const std::pair<const char *, const char *> wanted[] = {
        {"bootstrap.servers", brokers}, {"group.id", "weir-bare-auctions"}, {"enable.auto.commit", "false"},
        {"enable.partition.eof", "true"}, {"auto.offset.reset", "earliest"}};
    for (auto [name, value] : wanted) {
        if (rd_kafka_conf_set(settings, name, value, error, sizeof error) != RD_KAFKA_CONF_OK) fail(error);
    }
    rd_kafka_t *client = rd_kafka_new(RD_KAFKA_CONSUMER, settings, error, sizeof error);
    if (!client) fail(error);
    rd_kafka_poll_set_consumer(client);
    return client;
}

size_t assign_all(rd_kafka_t *client, const char *topic) {
    const rd_kafka_metadata_t *metadata = nullptr;
    rd_kafka_topic_t *handle = rd_kafka_topic_new(client, topic, nullptr);
    if (rd_kafka_metadata(client, 0, handle, &metadata, 10000) != RD_KAFKA_RESP_ERR_NO_ERROR)
        fail("the topic is not known");
    size_t count = size_t(metadata->topics[0].partition_cnt);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(int(count));
    for (size_t partition = 0; partition < count; partition++)
        rd_kafka_topic_partition_list_add(list, topic, int32_t(partition))->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(client, list);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(handle);
    return count;
}

} // namespace

int main(int count, char **arguments) {
    if (count != 4) fail("give brokers, a topic and a file");
    rd_kafka_t *client = open(arguments[1]);
    size_t unfinished = assign_all(client, arguments[2]);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(client);
    Table table(arguments[3]);
    Auctions auctions;
    std::map<int32_t, int64_t> offsets;
    std::vector<rd_kafka_message_t *> messages(batch_records);
    size_t records = 0, pending = 0;
    while (unfinished > 0) {
        ssize_t found = rd_kafka_consume_batch_queue(queue, 100, messages.data(), batch_records - pending);
        if (found < 0) fail(rd_kafka_err2str(rd_kafka_last_error()));
        for (ssize_t place = 0; place < found; place++) {
            rd_kafka_message_t *message = messages[size_t(place)];
            if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
                unfinished--;
            } else if (message->err) {
                fail(rd_kafka_message_errstr(message));
            } else {
                auctions.add(static_cast<const uint8_t *>(message->payload), message->len, message->partition,
                             rd_kafka_message_timestamp(message, nullptr));
                offsets[message->partition] = message->offset + 1;
                pending++;
            }
            rd_kafka_message_destroy(message);
        }
        if (pending < batch_records && unfinished > 0) continue;
        table.commit(auctions.rows, offsets);
        auctions.rows.clear();
        records += pending;
        pending = 0;
    }
    printf("records %zu, rows %lld, bids %lld\n", records, static_cast<long long>(table.value("SELECT count(*) FROM bids")),
           static_cast<long long>(table.value("SELECT sum(bids) FROM bids")));
    rd_kafka_queue_destroy(queue);
    rd_kafka_consumer_close(client);
    rd_kafka_destroy(client);
}
