import ConfigurationFiles
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
        let folded = try Self.foldedOffsets(workers.map(\.directory), stream)
        for (number, partition) in topic.partitions.enumerated() {
            guard let end = (partition.records.last?.offset).map({ $0 + 1 }) else { continue }
            let next = folded[Int32(number)]?.upperBound ?? 0
            guard next == end else {
                throw SimulationFault("\(stream)/\(number) is folded to \(next) of \(end)")
            }
        }
        var furthest: [Int32: [Int64: String]] = [:]
        // A store that was left behind is a fold of the first part of each of its partitions.
        for worker in workers {
            let offsets = try Self.foldedOffsets([worker.directory], stream)
            guard !offsets.isEmpty else { continue }
            let alone = try OpenStores(directories: [worker.directory])
            let refused = try Self.refused(worker.directory, stream)
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
            if let difference = try feed.difference(alone, at: offsets, refused: refused) {
                throw SimulationFault("\(worker.name) by itself: \(difference)")
            }
        }
        if let difference = try feed.difference(stores, at: folded, refused: furthest) {
            throw SimulationFault(difference)
        }
        return furthest.values.flatMap(\.values)
    }

    func compareDigest(withFoldIn anew: String) throws {
        let digests = (try stores.digest(), try OpenStores(directories: [anew]).digest())
        guard digests.0 == digests.1 else {
            throw SimulationFault("\(stream): another digest than that of a fold from scratch")
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

    /// Why a store has refused records, by partition and offset.
    private static func refused(
        _ directory: String, _ stream: String
    ) throws -> [Int32: [Int64: String]] {
        try StoreReader(path: storePath(directory, stream)).snapshot { snapshot in
            try snapshot.partitionStates().reduce(into: [:]) { refused, state in
                for record in try snapshot.refused(partition: state.partition) {
                    refused[state.partition, default: [:]][record.offset] = record.reason
                }
            }
        }
    }

    /// The store that is in force.
    static func storePath(_ directory: String, _ stream: String) throws -> String {
        try PromotionJournal(directory: directory).path(of: stream)
    }

    /// The offsets that the furthest copy of each partition has folded.
    static func foldedOffsets(
        _ directories: [String], _ stream: String
    ) throws -> [Int32: Range<Int64>] {
        var offsets: [Int32: Range<Int64>] = [:]
        for directory in directories {
            let path = try storePath(directory, stream)
            guard FileManager.default.fileExists(atPath: path) else { continue }
            let states = try StoreReader(path: path).snapshot { try $0.partitionStates() }
            // Of a copy without a record nothing counts, wherever it began.
            for state in states
            where state.nextOffset > offsets[state.partition]?.upperBound ?? -1
                && state.records > 0
            {
                offsets[state.partition] = state.firstOffset..<state.nextOffset
            }
        }
        return offsets
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
        for record in letters?.recordsAsAppended ?? [] {
            func header(_ name: String) -> String? {
                record.headers.last { $0.name == name }?.value
                    .map { String(decoding: $0, as: UTF8.self) }
            }
            guard let partition = header("weir_partition").flatMap({ Int64($0) }),
                let offset = header("weir_offset").flatMap({ Int64($0) })
            else {
                throw SimulationFault("\(name): a dead letter does not say where it is from")
            }
            let records = topic.partitions[Int(partition)].records
            let original = records.first { $0.offset == offset }
            let isLeftBehind = header("weir_sha256") != nil
            guard let original, record.key == original.key,
                record.headers.starts(with: original.headers),
                isLeftBehind ? record.value == nil : record.value == original.value
            else {
                throw SimulationFault(
                    "\(name) has another record of partition \(partition) at \(offset)")
            }
            let offsets = found[Int32(partition)] ?? []
            if !offsets.contains(offset) { found[Int32(partition)] = offsets + [offset] }
        }
        for number in topic.partitions.indices.map({ Int32($0) }) {
            let wanted = feed.rejected[number] ?? []
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
