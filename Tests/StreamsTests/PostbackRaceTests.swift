import Signatures
import Streams
import TestKit
import Testing

@Suite("Copies of one postback")
struct PostbackRaceTests {
    private func outcomes(
        _ records: [TestRecord], _ batching: Batching = .together
    ) throws -> [Int64] {
        let result = try foldPostbacks(records, batching)
        return [.accepted, .duplicates, .conflicts, .rejected].map { result.outcome($0) }
    }

    private func copy(_ signer: SigningKeys.Signer, value: Document = 20) throws -> TestRecord {
        try Postbacks.record(Postbacks.v40.with(["conversion-value": value]), by: signer)
    }

    private static let orders: [[SigningKeys.Signer]] = [
        [.production, .development, .stranger], [.production, .stranger, .development],
        [.development, .production, .stranger], [.development, .stranger, .production],
        [.stranger, .production, .development], [.stranger, .development, .production],
    ]

    private func rank(_ signer: SigningKeys.Signer) -> Int {
        switch signer {
        case .production: 2
        case .development: 1
        case .stranger: 0
        }
    }

    @Test(
        "nobody blocks the real postback by racing it: a better copy is accepted, in every order",
        arguments: orders)
    func race(_ order: [SigningKeys.Signer]) throws {
        for batching in [Batching.together, .sizes([1]), .sizes([2])] {
            for differ in [false, true] {
                let records = try order.enumerated().map {
                    try copy($1, value: .raw("\(differ ? $0 : 20)"))
                }
                let result = try foldPostbacks(records, batching)
                var best = -1
                var accepted: [String] = []
                for signer in order where rank(signer) > best {
                    best = rank(signer)
                    accepted.append(signer.verdict)
                }
                let verdicts = result.rows("postbacks").compactMap { $0["verdict"] }
                #expect(Set(verdicts) == Set(accepted.map { .text($0) }))
                #expect(result.outcome(.accepted) == Int64(accepted.count))
                // Lower ranks are duplicates, whatever they carry.
                #expect(result.outcome(.duplicates) == Int64(3 - accepted.count))
                #expect(result.refused.isEmpty)
            }
        }
    }

    @Test(
        "an equal rank is a duplicate with the same unsigned values, and a conflict with others",
        arguments: SigningKeys.Signer.allCases)
    func equalRank(_ signer: SigningKeys.Signer) throws {
        for batching in [Batching.together, .sizes([1])] {
            #expect(try outcomes([copy(signer), copy(signer)], batching) == [1, 1, 0, 0])
            let changes: [KeyValuePairs<String, Document?>] = [
                ["conversion-value": 21], ["conversion-value": nil],
                ["conversion-value": nil, "coarse-conversion-value": "low"],
                ["country-code": "DE"], ["country-code": nil],
            ]
            for change in changes {
                let other = try Postbacks.record(Postbacks.v40.with(change), by: signer)
                let result = try foldPostbacks([copy(signer), other], batching)
                #expect(result.outcome(.conflicts) == 1)
                #expect(result.reasons == ["conflict"])
                #expect(result.refused.first?.offset == 1)
                #expect(result.sum("postbacks", "postbacks") == 1)
            }
        }
    }

    @Test("the unsigned values are held against the best accepted copy, and nothing else")
    func bestCopy() throws {
        // The value of the first, worse copy no longer matters.
        #expect(
            try outcomes([
                copy(.stranger, value: 1), copy(.production, value: 2), copy(.production, value: 2),
                copy(.production, value: 1), copy(.stranger, value: 1), copy(.stranger, value: 9),
            ]) == [2, 3, 1, 0])
    }

    @Test("redownload is no unsigned value, and null is absent")
    func sameValues() throws {
        let unsigned = Postbacks.v40.with(["attribution-signature": nil, "country-code": nil])
        #expect(
            try outcomes([
                TestRecord(unsigned), TestRecord(unsigned.with(["redownload": true])),
                TestRecord(unsigned.with(["country-code": .null])),
            ]) == [1, 2, 0, 0])
        // An unverifiable copy ranks as an invalid one.
        #expect(
            try outcomes([
                TestRecord(unsigned.with(["version": "9.9"])), TestRecord(unsigned),
                TestRecord(unsigned.with(["version": "9.9", "conversion-value": 1])),
            ]) == [1, 1, 1, 0])
    }

    @Test("an AdAttributionKit copy conflicts by its interaction type as well")
    func interaction() throws {
        func copy(_ changes: KeyValuePairs<String, Document?>) throws -> TestRecord {
            try Postbacks.record(
                claims: Postbacks.claims, unsigned: Postbacks.unsigned.with(changes))
        }
        #expect(
            try outcomes([
                copy([:]), copy([:]), copy(["ad-interaction-type": "view"]),
                copy(["ad-interaction-type": nil]),
            ]) == [1, 1, 2, 0])
        // By the word as it came, not by what it counts as; the empty one is a word.
        let words: [Document?] = ["hover", "other", "\u{00E9}", "e\u{0301}", "", nil]
        for (index, first) in words.enumerated() {
            let copies = try (words + words).map { try copy(["ad-interaction-type": $0]) }
            for batching in [Batching.together, .sizes([1])] {
                let result = try foldPostbacks(
                    [copy(["ad-interaction-type": first])] + copies, batching)
                #expect(result.outcome(.accepted) == 1)
                #expect(result.outcome(.duplicates) == 2, "\(index)")
                #expect(result.outcome(.conflicts) == 10, "\(index)")
                #expect(
                    result.rows("postbacks").first?["interaction"] == (first == nil ? nil : "other")
                )
            }
        }
    }

    @Test("an AdAttributionKit copy does not conflict by what is signed")
    func signedWords() throws {
        func copy(_ changes: KeyValuePairs<String, Document?>) throws -> TestRecord {
            try Postbacks.record(claims: Postbacks.claims.with(changes))
        }
        #expect(
            try outcomes([
                copy([:]), copy(["conversion-type": "pre-order"]),
                copy(["marketplace-identifier": "com.example.market"]),
            ]) == [1, 2, 0, 0])
    }

    @Test("ids ignore the case of network and transaction, of ASCII letters only")
    func idCase() throws {
        func copy(_ network: String, _ transaction: String) -> TestRecord {
            TestRecord(
                Postbacks.v40.with([
                    "ad-network-id": .string(network), "transaction-id": .string(transaction),
                ]))
        }
        #expect(
            try outcomes([copy("Net", "AbC"), copy("nEt", "aBc"), copy("NET", "ABC")]) == [
                1, 2, 0, 0,
            ])
        #expect(
            try outcomes([copy("k", "a"), copy("\u{212A}", "a"), copy("É", "a"), copy("é", "a")])
                == [4, 0, 0, 0])
        #expect(try outcomes([copy("ab", "c"), copy("a", "bc")]) == [2, 0, 0, 0])
    }

    @Test("the sequence index is part of the id from 4.0 on, and 0 below")
    func sequenceIndex() throws {
        func copy(_ base: Document, _ index: Document) -> TestRecord {
            TestRecord(base.with(["postback-sequence-index": index, "transaction-id": "t"]))
        }
        #expect(try outcomes((0..<3).map { copy(Postbacks.v40, .raw("\($0)")) }) == [3, 0, 0, 0])
        #expect(try outcomes((0..<3).map { copy(Postbacks.v30, .raw("\($0)")) }) == [1, 2, 0, 0])
        let result = try foldPostbacks([copy(Postbacks.v30, 2)])
        #expect(result.rows("postbacks").first?["sequence_index"] == nil)
    }

    @Test("the frameworks have ids of their own; versions share them")
    func frameworks() throws {
        let skan = Postbacks.v40.with([
            "ad-network-id": "n", "transaction-id": "t", "country-code": nil,
        ])
        let claims = Postbacks.claims.with([
            "ad-network-identifier": "n", "postback-identifier": "t",
        ])
        #expect(
            try outcomes([
                TestRecord(skan), Postbacks.record(claims: claims),
                TestRecord(skan.with(["version": "3.0", "campaign-id": 1])),
            ]) == [2, 1, 0, 0])
    }

    @Test(
        "a refused copy leaves nothing behind, and postbacks are remembered forever, in their partition"
    )
    func memory() throws {
        let broken = TestRecord(Postbacks.v40.with(["conversion-value": 64]))
        let late = try copy(.production).at(TestRecord.halfPastFive + 400 * 86_400_000)
        #expect(
            try outcomes([broken, copy(.production), broken, late], .sizes([1])) == [1, 1, 0, 2])
        #expect(
            try outcomes([copy(.production), copy(.production).inPartition(1)]) == [2, 0, 0, 0])
    }

    @Test(
        "however the log is cut into batches, the result is the same",
        arguments: 1...3 as ClosedRange<UInt64>)
    func batches(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var records: [TestRecord] = []
        for _ in 0..<300 {
            let postback = Postbacks.v40.with([
                "transaction-id": .string("\(Int.random(in: 0..<30, using: &random))"),
                "conversion-value": .raw("\(Int.random(in: 0..<3, using: &random))"),
                "postback-sequence-index": .raw("\(Int.random(in: 0..<4, using: &random))"),
            ])
            let signer = SigningKeys.Signer.allCases.randomElement(using: &random) ?? .stranger
            var record = try Postbacks.record(postback, by: signer)
            record.partition = Int32.random(in: 0..<3, using: &random)
            record.timestamp += Int64.random(in: -9_000_000...9_000_000, using: &random)
            records.append(record)
        }
        var pipeline = PostbackPipeline(trustsDevelopment: true, models: [try Models.model()])
        pipeline.partners = [
            .init(name: "b", trust: [.valid, .development], networks: nil, apps: nil),
            .init(name: "a", trust: [.valid, .invalid], networks: nil, apps: nil),
        ]
        let whole = try foldPostbacks(records, .together, pipeline)
        #expect(whole.outcome(.conflicts) > 10)
        #expect(whole.outcome(.duplicates) > 10)
        #expect(whole.published.count > 50)
        for sizes in [[1], [7, 1, 40], [100]] {
            #expect(try foldPostbacks(records, .sizes(sizes), pipeline) == whole)
        }
    }
}
