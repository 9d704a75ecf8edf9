import Reports
import Testing

@Suite("Digests")
struct DigestTests {
    private let sample = SampleStores()

    private let records: [SampleStores.Record] = [
        .billing(0, 0, id: "a"), .billing(1, 0, id: "b", seat: "t"), .billing(0, 1, id: "a"),
        .init(partition: 1, offset: 1, value: "{"),
        .billing(0, 2, id: "c", milliseconds: SampleStores.noon + 2 * SampleStores.hour),
    ]

    private func digest(_ names: String...) throws -> String {
        try OpenStores(directories: names.map(sample.directory)).digest()
    }

    @Test("the digest does not depend on batches, nor on how partitions are mixed")
    func sameLog() throws {
        try sample.foldBids(records, into: "one", atOnce: 1)
        try sample.foldBids(records, into: "all", atOnce: 100)
        let apart = records.filter { $0.partition == 1 } + records.filter { $0.partition == 0 }
        try sample.foldBids(apart, into: "apart", atOnce: 2)
        let digest = try digest("one")
        #expect(digest.wholeMatch(of: /sha256:[0-9a-f]{64}/) != nil)
        #expect(try self.digest("all") == digest)
        #expect(try self.digest("apart") == digest)
    }

    @Test("partitions in stores of their own give the digest of one store")
    func scaledOut() throws {
        try sample.foldBids(records, into: "all")
        try sample.foldBids(records.filter { $0.partition == 0 }, into: "zero")
        try sample.foldBids(records.filter { $0.partition == 1 }, into: "one")
        #expect(try digest("one", "zero") == digest("all"))
    }

    @Test("a copy of which nothing is folded is behind one with records, wherever it began")
    func emptyCopy() throws {
        try sample.foldBids(records, into: "all")
        for name in ["other", "began-late"] {
            try sample.foldBids([.billing(2, 0, id: "z")], into: name)
        }
        try sample.change(
            "INSERT INTO partitions VALUES (0, 9, 9, 9, 0, 0, 0, 9, 0, 0, '')", stream: "bids",
            in: "began-late")
        let digest = try digest("other", "all")
        #expect(try self.digest("began-late", "all") == digest)
        #expect(try self.digest("all", "began-late") == digest)
    }

    @Test("the words of a rejection are no part of the digest, its reason is")
    func details() throws {
        try sample.foldBids(records)
        let before = try digest("data")
        try sample.change("UPDATE refused SET detail = 'other words'", stream: "bids")
        #expect(try digest("data") == before)
        try sample.change("UPDATE refused SET reason = 'too_deep'", stream: "bids")
        #expect(try digest("data") != before)
    }

    @Test("a configuration that nothing is folded under is no part of the digest")
    func emptyEpoch() throws {
        try sample.foldBids(records)
        let before = try digest("data")
        let insertion =
            "INSERT INTO epochs SELECT partition, next_offset - %, 'hash', '{}', 1 FROM partitions"
        try sample.change(insertion.replacing("%", with: "0"), stream: "bids")
        #expect(try digest("data") == before)
        try sample.change(insertion.replacing("%", with: "1"), stream: "bids")
        #expect(try digest("data") != before)
    }

    @Test("everything that a store holds changes the digest")
    func differences() throws {
        try sample.foldBids(records)
        try sample.foldPostbacks([.postback(0)])
        var digests = [try digest("data")]
        for (change, stream) in [
            ("UPDATE bids_sums SET wins = wins + 1", "bids"),
            (
                "UPDATE outcomes_sums SET duplicates = duplicates + 1, accepted = accepted - 1",
                "bids"
            ),
            ("UPDATE partitions SET next_offset = next_offset + 1", "bids"),
            ("UPDATE dedupe SET entries = zeroblob(24), max_timestamp_ms = 0", "bids"),
            ("UPDATE epochs SET configuration = '{\"a\":1}'", "bids"),
            ("UPDATE postback_ids SET conversion_value = 3", "postbacks"),
            // An empty word is not an absent one, and no word can look like one.
            ("UPDATE postback_ids SET interaction = ''", "postbacks"),
            ("UPDATE postback_ids SET interaction = '-'", "postbacks"),
            (
                "INSERT INTO outbox VALUES (0, 0, 'acme', 'id', 1, 0, 'net', '', 0, 1, 2, '{}')",
                "postbacks"
            ),
        ] {
            try sample.change(change, stream: stream)
            digests.append(try digest("data"))
        }
        #expect(Set(digests).count == digests.count)
    }

    @Test("without any store there is no digest")
    func noStores() { #expect(throws: InspectionError.self) { try digest("none") } }
}
