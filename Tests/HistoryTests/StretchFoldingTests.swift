import Engine
import EventLog
import History
import Store
import Streams
import TestKit
import Testing

@Suite("A stretch of the log that is folded again")
struct StretchFoldingTests {
    @Test(
        "adds, record by record, what it added the first time, whatever came before it",
        arguments: MeasuredWorkspace.streams, 1...2 as ClosedRange<UInt64>)
    func addsTheSame(_ stream: String, _ seed: UInt64) throws {
        let workspace = try MeasuredWorkspace(stream)
        let records = try workspace.records(600, seed: seed)
        var states: [StoreState] = []
        for part in 0..<3 {
            try workspace.fold(Array(records[part * 200..<part * 200 + 200]), under: part)
            states.append(try workspace.state())
        }
        var partiallyKnown = 0
        for part in 0..<3 {
            let before = part == 0 ? StoreState() : states[part - 1]
            try workspace.withFolding { folding in
                var added: [StoredRowKey: [Int64]] = [:]
                for (partition, end) in states[part].nextOffsets {
                    let start = before.nextOffsets[partition] ?? 0
                    let reading = try folding.fold(partition: partition, offsets: start..<end) {
                        if $0.answers != nil { partiallyKnown += 1 }
                        for addition in $0.additions {
                            let key = StoredRowKey(
                                addition.row.table.name, partition, addition.row.columns)
                            added.add(addition.measures, to: key)
                        }
                    }
                    #expect(reading.gone == nil)
                    #expect(reading.records == end - start)
                }
                #expect(added == states[part].sums.less(before.sums))
                #expect(!added.isEmpty)
            }
        }
        #expect(partiallyKnown > 8)
    }

    @Test("A copy is held against the word that the first one came with: unknown, empty or none")
    func words() throws {
        let workspace = try MeasuredWorkspace("postbacks")
        let words: [String?] = ["hover", "", nil]
        func copies(of transaction: Int, _ words: [String?]) -> [OutgoingRecord] {
            let claims = """
                {"postback-identifier":"\(transaction)","ad-network-identifier":"n",\
                "source-identifier":"1","advertised-item-identifier":1}
                """
            let jws = #"{"kid":"x"}"#.utf8.base64URL + "." + claims.utf8.base64URL + ".AAAA"
            return words.map { word in
                let member = word.map { #","ad-interaction-type":"\#($0)""# } ?? ""
                return Samples.record(
                    "postbacks", #"{"jws-string":"\#(jws)"\#(member)}"#, key: "\(transaction)",
                    type: "adattributionkit.postback", partition: 0)
            }
        }
        try workspace.fold(words.enumerated().flatMap { copies(of: $0, [$1]) })
        try workspace.fold(words.indices.flatMap { copies(of: $0, words) })
        var outcomes: [Outcome] = []
        try workspace.withFolding { folding in
            try folding.fold(partition: 0, offsets: 3..<12) { outcomes.append($0.outcome) }
        }
        #expect(
            outcomes
                == words.flatMap { first in
                    words.map { $0 == first ? Outcome.duplicates : .conflicts }
                })
        #expect(try workspace.workspace.outcome(.duplicates, "postbacks") == 3)
        #expect(try workspace.workspace.outcome(.conflicts, "postbacks") == 6)
    }

    @Test(
        "A record whose sum overflowed adds nothing when it is folded again, and says what it would have"
    )
    func overflow() throws {
        let workspace = try MeasuredWorkspace("store-notifications")
        try workspace.configure(0)
        let most: Int64 = 9_223_372_036_854_775
        let samples = try #require(workspace.notifications)
        try workspace.publish(
            try [("a", 1, most), ("b", 2, most), ("c", 3, 5)].map { uuid, transaction, price in
                SampleNotifications.record(
                    try samples.v2("REFUND", uuid: uuid, transaction: transaction, price: price))
            })
        try workspace.fold()
        var refunded: [Int64] = []
        var leftOut: [Int64] = []
        try workspace.withFolding { folding in
            try folding.fold(partition: 0, offsets: 0..<3, looksAtLeftOut: true) { record in
                func amounts(_ additions: [Addition]) -> [Int64] {
                    additions.filter { $0.row.table.name == StoreNotificationsKey.table.name }
                        .compactMap(\.measures.last)
                }
                refunded += amounts(record.additions)
                leftOut += amounts(record.leftOut)
            }
        }
        #expect(refunded == [most * 1000])
        #expect(leftOut == [most * 1000, 5000])
    }

    @Test(
        "Hours say where their records lie, and how many they are",
        arguments: MeasuredWorkspace.streams
    )
    func hours(_ stream: String) throws {
        let workspace = try MeasuredWorkspace(stream)
        try workspace.fold(workspace.records(300, seed: 5))
        try workspace.withFolding { folding, snapshot in
            for state in try snapshot.partitionStates() {
                var offsets: [Hour: [Int64]] = [:]
                try folding.fold(partition: state.partition, offsets: 0..<state.nextOffset) {
                    offsets[$0.hour, default: []].append($0.record.offset)
                }
                let stretches = try snapshot.hours(of: state.partition)
                #expect(stretches.count == offsets.count)
                for stretch in stretches {
                    let found = offsets[stretch.hour] ?? []
                    #expect(stretch.firstOffset == found.min())
                    #expect(stretch.lastOffset == found.max())
                    #expect(stretch.records == Int64(found.count))
                }
            }
        }
    }

    @Test(
        "Duplicates of postbacks, notifications and costs name their original",
        arguments: ["postbacks", "store-notifications", "costs"])
    func originals(_ stream: String) throws {
        let workspace = try MeasuredWorkspace(stream)
        try workspace.fold(workspace.records(300, seed: 6))
        var duplicates = 0
        try workspace.withFolding { folding, snapshot in
            for state in try snapshot.partitionStates() {
                var accepted: Set<Int64> = []
                try folding.fold(partition: state.partition, offsets: 0..<state.nextOffset) {
                    if $0.outcome == .accepted { accepted.insert($0.record.offset) }
                    guard $0.outcome == .duplicates else { return }
                    duplicates += 1
                    let original = try #require($0.originalOffset)
                    #expect(accepted.contains(original))
                }
            }
        }
        #expect(duplicates > 5)
    }
}
