import ConfigurationValues
import Crypto
import EventLog
import Foundation
import History
import Reports
import Store
import Streams

/// What the workers of a stream have made of their topic, beside what they should have.
struct Comparison {
    private let feed: any Feed
    private let topic: SimulatedCluster.Topic
    private let workers: [SimulatedWorker]
    private let stores: OpenStores

    init(
        _ feed: any Feed, _ topic: SimulatedCluster.Topic, _ workers: [SimulatedWorker]
    ) throws {
        self.feed = feed
        self.topic = topic
        self.workers = workers
        stores = try OpenStores(directories: workers.map(\.directory))
    }

    private var stream: String { feed.stream.streamName }

    /// Each partition is folded to its end, and every dump is the model's: of the furthest copies, and of each
    /// store by itself.
    ///
    /// - Returns: why records were refused, one for each.
    func compareWithModel() throws -> [String] {
        let copies = try copies.filter { !$0.offsets.isEmpty }
        let (folded, windows) = try furthest()
        for (number, partition) in topic.partitions.enumerated() {
            guard let end = (partition.records.last?.offset).map({ $0 + 1 }) else { continue }
            let next = folded[Int32(number)]?.upperBound ?? 0
            guard next == end else {
                throw SimulationFault("\(stream)/\(number) is folded to \(next) of \(end)")
            }
        }
        var furthest: [Int32: [Int64: String]] = [:]
        // A store that was left behind is a fold of the first part of each of its partitions.
        for (worker, offsets) in copies {
            let refusals = try Self.refusals(worker.directory, stream)
            let refused = refusals.mapValues { $0.mapValues(\.reason) }
            for (partition, reasons) in refused where offsets[partition] == folded[partition] {
                furthest[partition] = reasons
            }
            // All that is left of a topic that was made anew lies behind what this copy has of the old one: nothing
            // shows that, and readers take another copy.
            let isOfOldTopic = offsets.contains { number, range in
                let partition = topic.partitions[Int(number)]
                return partition.oldEndOffset > 0 && range.upperBound <= partition.earliestOffset
            }
            guard !isOfOldTopic else { continue }
            try compareKept(refusals, by: worker)
            guard copies.count > 1 else { continue }
            let alone = try OpenStores(directories: [worker.directory])
            if let difference = try feed.difference(
                alone, at: offsets, under: worker.windows, refused: refused)
            {
                throw SimulationFault("\(worker.name) by itself: \(difference)")
            }
        }
        if let difference = try feed.difference(
            stores, at: folded, under: windows, refused: furthest)
        {
            throw SimulationFault(difference)
        }
        return furthest.values.flatMap(\.values)
    }

    private typealias Copies = [(worker: SimulatedWorker, offsets: [Int32: Range<Int64>])]

    private var copies: Copies {
        get throws {
            try workers.map { ($0, try Self.foldedOffsets($0.directory, stream)) }
        }
    }

    /// What the furthest copy of each partition has folded, and under which windows; of equal ones the first.
    private func furthest() throws -> ([Int32: Range<Int64>], [Int32: WindowsInForce]) {
        var folded: [Int32: Range<Int64>] = [:]
        var windows: [Int32: WindowsInForce] = [:]
        for (worker, offsets) in try copies {
            for (number, range) in offsets
            where range.upperBound > folded[number]?.upperBound ?? -1 {
                folded[number] = range
                windows[number] = worker.windows[number]
            }
        }
        return (folded, windows)
    }

    /// Whether all that counts was folded under the window of the present file.
    func isUnderOneWindow() throws -> Bool {
        let (folded, windows) = try furthest()
        return folded.allSatisfy { number, range in
            windows[number]?.isOnly(feed.windowSeconds, before: range.upperBound) ?? true
        }
    }

    /// - Parameter other: a directory in which all of it was folded once more, as `how` says.
    func compareDigest(with other: String, _ how: String) throws {
        let digests = (try stores.digest(), try OpenStores(directories: [other]).digest())
        guard digests.0 == digests.1 else {
            throw SimulationFault("\(stream): another digest than that of \(how)")
        }
    }

    /// What a dump rests on adds up, and can be checked without the log and the stores.
    ///
    /// - Parameter directory: where the archive is while it is checked.
    func checkEvidence(
        of dump: String, in directory: String, openReader: @escaping Explainer.OpenReader,
        pipelines: PipelineDirectory
    ) throws {
        let path = "\(directory)/evidence.tar"
        defer { unlink(path) }
        let explainer = Explainer(
            stores: stores, openReader: openReader, address: "the simulated log",
            rules: .pipelines(pipelines))
        var number = try DumpNumber(DumpQuery(name: dump))
        if number.measures.contains(where: MoneyByCurrency.isMoney) {
            // Amounts of several currencies are never added.
            number = try DumpNumber(
                DumpQuery(name: dump, conditions: [.init(column: "currency", value: "EUR")]))
        }
        let explanation = try explainer.writeEvidence(of: number, to: path) { record in
            record.folded.record.value.flatMap { StoreNotificationsModel.masked($0) }
        }
        guard explanation.addsUp else {
            throw SimulationFault(
                "the records behind \(dump) of \(stream) do not add up: \(explanation.summary.first { $0.hasPrefix("does not") } ?? "")"
            )
        }
        var verifier = try EvidenceVerifier(path: path)
        if let failure = try verifier.verify().first(where: { !$0.holds }) {
            throw SimulationFault(
                "evidence of \(dump) of \(stream): \(failure.name): \(failure.explanation)")
        }
    }

    /// A refused record is kept as it was sent; of one that is too large its digest.
    private func compareKept(
        _ refusals: [Int32: [Int64: StoredRefusal]], by worker: SimulatedWorker
    ) throws {
        for (number, refusals) in refusals {
            for record in topic.partitions[Int(number)].records {
                guard let refusal = refusals[record.offset] else { continue }
                let isLarge = refusal.reason == ContractReason.tooLarge.rawValue
                let parts = [
                    ("key", refusal.key == record.key),
                    ("value", refusal.value == (isLarge ? nil : record.value)),
                    ("digest", refusal.valueSHA256 == (isLarge ? record.valueSHA256 : nil)),
                    ("time", refusal.timestampMilliseconds == max(0, record.timestampMilliseconds)),
                    ("type", refusal.type == record.type),
                ]
                if let other = parts.first(where: { !$0.1 }) {
                    throw SimulationFault(
                        "\(worker.name) keeps a record with another \(other.0) than \(stream)/\(number) has at \(record.offset): \(refusal.reason), \(refusal.type), \(refusal.timestampMilliseconds)"
                    )
                }
            }
        }
    }

    /// What a store has refused, by partition and offset.
    private static func refusals(
        _ directory: String, _ stream: String
    ) throws -> [Int32: [Int64: StoredRefusal]] {
        try StoreReader(path: storePath(directory, stream)).snapshot { snapshot in
            try snapshot.partitionStates().reduce(into: [:]) { refused, state in
                for record in try snapshot.refused(partition: state.partition) {
                    refused[state.partition, default: [:]][record.offset] =
                        try snapshot.refusal(partition: state.partition, offset: record.offset)
                }
            }
        }
    }

    /// The store that is in force.
    static func storePath(_ directory: String, _ stream: String) throws -> String {
        try PromotionJournal(directory: directory).path(of: stream)
    }

    /// The offsets that a store has folded of each partition.
    static func foldedOffsets(
        _ directory: String, _ stream: String
    ) throws -> [Int32: Range<Int64>] {
        let path = try storePath(directory, stream)
        guard FileManager.default.fileExists(atPath: path) else { return [:] }
        let states = try StoreReader(path: path).snapshot { try $0.partitionStates() }
        // Of a copy without a record nothing counts, wherever it began.
        return states.filter { $0.records > 0 }.reduce(into: [:]) { offsets, state in
            offsets[state.partition] = state.firstOffset..<state.nextOffset
        }
    }

    /// What partners are told is what the contract says. What a fold from scratch has for them was published, each document at least once, the first time in the
    /// order of its partition, and nothing else.
    ///
    /// - Returns: how many documents there are.
    func comparePartnerPostbacks(
        _ published: SimulatedCluster.Topic?, withFoldIn anew: String
    ) throws -> Int {
        let documents = feed.documents
        var ids: [String] = []
        for record in published?.recordsAsAppended ?? [] {
            let bytes = record.headers.first { $0.name == "ce_id" }?.value
            guard let id = bytes.map({ String(decoding: $0, as: UTF8.self) }) else { continue }
            ids.append(id)
            if let difference = documents?.difference(id, record.value) {
                throw SimulationFault(difference)
            }
        }
        var seen: Set<String> = []
        let first = ids.filter { seen.insert($0).inserted }
        let reader = try StoreReader(path: "\(anew)/\(stream).sqlite")
        var partitions: [String: Set<Int32>] = [:]
        try reader.snapshot { snapshot in
            let wanted = try snapshot.partitionStates().map { state in
                // Partner, id, revision.
                (
                    state.partition,
                    try snapshot.outboxIDs(of: state.partition).map { row in
                        row.split(separator: " ", maxSplits: 3).dropFirst().prefix(2)
                            .joined(separator: ":")
                    }
                )
            }
            for (partition, ids) in wanted {
                for id in ids { partitions[id, default: []].insert(partition) }
            }
            for (partition, ids) in wanted {
                // A postback that came to two partitions is published for the one that was folded first.
                let there = first.filter { partitions[$0] == [partition] }
                let expected = ids.filter { partitions[$0] == [partition] }
                guard
                    published?.knowsOrder == false
                        ? Set(expected) == Set(there) : expected == there,
                    seen.isSuperset(of: ids)
                else {
                    throw SimulationFault(
                        "of partition \(partition) \(there.count) documents were published, and \(ids.count) are for partners, or their order differs"
                    )
                }
            }
        }
        let wanted = Set(documents.map(\.documents.keys) ?? [:].keys)
        if let other = wanted.symmetricDifference(partitions.keys).first {
            throw SimulationFault(
                "\(other) is \(wanted.contains(other) ? "not in a store, and is" : "in a store, and not") for partners by the contract"
            )
        }
        return partitions.count
    }

    /// Each rejected record is there at least once, the first time in order, and nothing else is.
    func compareDeadLetters(_ letters: SimulatedCluster.Topic?) throws {
        let name = "\(stream).dlq"
        var found: [Int32: [Int64]] = [:]
        let refused = feed.refused
        for record in letters?.recordsAsAppended ?? [] {
            guard let partition = record.header("weir_partition").flatMap({ Int64($0) }),
                let offset = record.header("weir_offset").flatMap({ Int64($0) })
            else {
                throw SimulationFault("\(name): a dead letter does not say where it is from")
            }
            let records = topic.partitions[Int(partition)].records
            let original = records.first { $0.offset == offset }
            // The model does not know every rejection's reason.
            let said = record.header("weir_reason") ?? ""
            let reason = refused[Int32(partition)]?[offset].flatMap { $0.isEmpty ? said : $0 }
            let isLarge = reason == ContractReason.tooLarge.rawValue
            guard let original, record.key == original.key, said == reason,
                ContractReason(rawValue: said) != nil, record.header("weir_topic") == stream,
                record.header("weir_detail") != nil,
                record.headers.starts(with: original.headers),
                record.value == (isLarge ? nil : original.value),
                record.header("weir_sha256") == (isLarge ? original.valueSHA256 : nil)
            else {
                throw SimulationFault(
                    "\(name) has another record of partition \(partition) at \(offset)")
            }
            let offsets = found[Int32(partition)] ?? []
            if !offsets.contains(offset) { found[Int32(partition)] = offsets + [offset] }
        }
        let rejected = feed.rejected
        for number in topic.partitions.indices.map({ Int32($0) }) {
            let wanted = rejected[number] ?? []
            var there = found[number] ?? []
            if letters?.knowsOrder == false { there.sort() }
            guard wanted == there else {
                throw SimulationFault(
                    "\(name) has of partition \(number) offsets \(there), and \(wanted) were rejected"
                )
            }
        }
    }
}

extension SimulatedCluster.Record {
    /// The last header of a name, as text.
    fileprivate func header(_ name: String) -> String? {
        headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }

    /// What the first header of several says, as text.
    fileprivate var type: String {
        headers.first { $0.name == "ce_type" }?.value.map { String(decoding: $0, as: UTF8.self) }
            ?? ""
    }

    fileprivate var valueSHA256: String {
        SHA256.hash(data: value ?? []).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            .joined()
    }
}
